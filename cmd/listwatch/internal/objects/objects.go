package objects

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/served"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// Flags names objects by the manifests that made them.
type Flags struct {
	files         []string
	recursive     bool
	kustomization string
}

// Register adds the flags -f, -R and -k.
func (f *Flags) Register(fs *pflag.FlagSet) {
	fs.StringSliceVarP(&f.files, "filename", "f", nil, "select the objects named in this file, folder or URL of manifests, YAML or JSON; - is stdin; may be repeated")
	fs.BoolVarP(&f.recursive, "recursive", "R", false, "read the folders in a folder of --filename too")
	fs.StringVarP(&f.kustomization, "kustomize", "k", "", "select the objects of the kustomization in this folder, which kustomize or kubectl builds")
}

// Choice is what the arguments or the files ask for.
type Choice struct {
	Wish    target.Wish
	objects []*manifest.Object // nil = the wish counts
	Missing *messages.Missing  // gets what discovery lacks, where all types are asked for
}

// Read reads the arguments and the files.
func (f *Flags) Read(ctx context.Context, args []string, stdin io.Reader) (a Choice, err error) {
	switch {
	case f.kustomization != "" && (len(f.files) > 0 || f.recursive):
		return a, exit.Usage("--kustomize says which objects: give neither --filename nor --recursive with it")
	case len(f.files) == 0 && f.kustomization == "":
		a.Wish, err = target.ParseArgs(args)
		return a, err
	}
	if len(args) > 0 {
		by := "filename"
		if f.kustomization != "" {
			by = "kustomize"
		}
		return a, exit.Usage("--%s says which objects, and so does %q: give one", by, printable.Clip(args[0]))
	}
	reader := &manifest.Reader{Stdin: stdin, Recursive: f.recursive}
	if f.kustomization != "" {
		a.objects, err = reader.Kustomize(ctx, f.kustomization)
		switch {
		case ctx.Err() != nil:
			return a, context.Cause(ctx)
		case err != nil:
			return a, exit.Usage("--kustomize: %w", err)
		}
	}
	for _, name := range f.files {
		list, err := reader.Read(ctx, name)
		switch {
		case ctx.Err() != nil:
			return a, context.Cause(ctx)
		case err != nil:
			return a, exit.Usage("--filename: %w", err)
		}
		a.objects = append(a.objects, list...)
	}
	if len(a.objects) == 0 {
		return a, exit.Usage("--filename %s: it has no objects", printable.Clip(strings.Join(f.files, ", ")))
	}
	for _, m := range a.objects {
		name := m.Head.Metadata.Name
		if name == "" {
			return a, exit.Usage("--filename %s: metadata.name is missing: with generateName alone nobody knows it", m.Where)
		}
		if err := target.CheckName(name); err != nil {
			return a, exit.Usage("--filename %s: %w", m.Where, err)
		}
	}
	return a, nil
}

// Ask is a method of served.Types.
type Ask func(*served.Types, context.Context, func(*discovery.API) error) error

// Targets asks the server what was chosen.
func (a Choice) Targets(ctx context.Context, of connect.Cluster, l *target.NamespaceList, all bool, ask Ask, can target.Offered) (ts []target.Target, err error) {
	if a.Wish.Everything() {
		ask = (*served.Types).Now // a type that is not known is no error
	}
	err = ask(of.Types, ctx, func(api *discovery.API) (err error) {
		ts, err = a.in(api, of, l, all, can)
		return err
	})
	for i := range ts {
		ts[i].Cluster = of.Name
	}
	return ts, err
}

// in returns what was chosen where api is served.
func (a Choice) in(api *discovery.API, of connect.Cluster, l *target.NamespaceList, all bool, can target.Offered) (ts []target.Target, err error) {
	cfg, places := of.Config, l.Places(of.Config, all)
	if a.objects == nil {
		wish := a.Wish
		wish.Broken = func(now map[string]error) { a.Missing.Report(of.Name, now) }
		ts, err := wish.In(api, of.Client.Server(), places[0], can)
		return target.Spread(ts, places), err
	}
	if len(places) > 1 {
		return nil, exit.Usage("--namespace names several, and an object of --filename is in one: give one")
	}
	type place struct {
		resource  kube.Resource
		namespace string
	}
	var order []place
	names := map[place][]string{}
	for _, m := range a.objects {
		r, err := manifest.ResourceOf(api, m)
		if err != nil {
			return nil, exit.Usage("--filename %s: %w", m.Where, err)
		}
		p := place{resource: r}
		if r.Namespaced {
			p.namespace = m.Head.Metadata.Namespace
			if p.namespace == "" {
				p.namespace = cfg.Namespace
			} else if len(l.Names) > 0 && !all && p.namespace != cfg.Namespace {
				return nil, exit.Usage("--filename %s: it is in namespace %q, and --namespace says %q", m.Where, printable.Clip(p.namespace), printable.Clip(cfg.Namespace))
			}
		}
		if names[p] == nil {
			order = append(order, p)
		}
		names[p] = append(names[p], m.Head.Metadata.Name)
	}
	for _, p := range order {
		for _, t := range target.Split(p.resource, p.namespace, names[p]) {
			t.Apart = len(order) > 1
			ts = append(ts, t)
		}
	}
	return ts, nil
}
