package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// target is one collection to follow: a type, perhaps reduced to one name by a
// field selector, or to several by a filter of ours.
type target struct {
	resource  kube.Resource
	namespace string // empty = all, or cluster scoped
	name      string
	names     map[string]bool // nil = all
	apart     bool            // there are others of its type, in other namespaces
}

// label names the target on stderr: pods, pods/a.
func (t target) label() string {
	label := t.resource.GroupResource()
	if t.name != "" {
		label += "/" + t.name
	}
	if t.apart && t.namespace != "" {
		label += " in " + t.namespace
	}
	return label
}

// where names the namespace, for a message behind the label: where that does not.
func (t target) where() string {
	if t.apart {
		return ""
	}
	return in(t.namespace)
}

// includes reports whether an object of this name is wanted.
func (t target) includes(name string) bool { return t.names == nil || t.names[name] }

// kubectlType is how kubectl writes a type before a name: pod, deployment.apps.
func kubectlType(r kube.Resource) string {
	return strings.TrimSuffix(strings.ToLower(r.Kind)+"."+r.Group, ".")
}

// most is how many names are watched one by one; a watch each costs the server
// less than a watch of all, up to about here.
const most = 8

// wish is what the arguments ask for: types, each with the names in it.
type wish struct {
	types []string
	names map[string][]string // by type; none = all
}

// parseArgs reads TYPE[,TYPE...] [NAME...] or TYPE/NAME...
func parseArgs(args []string) (wish, error) {
	w := wish{names: map[string][]string{}}
	if len(args) == 0 || args[0] == "" {
		return w, usage(`say which type, such as "pods", "deployments.apps,pods" or "pod/NAME"`)
	}
	if !strings.Contains(args[0], "/") {
		for t := range strings.SplitSeq(args[0], ",") {
			if t = strings.TrimSpace(t); t == "" {
				return w, usage("%q: a type is missing beside a comma", clip(args[0]))
			}
			if err := w.add(t, args[1:]); err != nil {
				return w, err
			}
		}
		return w, nil
	}
	for _, a := range args {
		t, name, ok := strings.Cut(a, "/")
		if !ok || t == "" {
			return w, usage("%q: where one argument is TYPE/NAME, all must be", clip(a))
		}
		if err := w.add(t, []string{name}); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *wish) add(t string, names []string) error {
	if !slices.Contains(w.types, t) {
		w.types = append(w.types, t)
	}
	for _, n := range names {
		if err := checkName(n); err != nil {
			return err
		}
		if !slices.Contains(w.names[t], n) {
			w.names[t] = append(w.names[t], n)
		}
	}
	return nil
}

func checkName(n string) error {
	if n == "" || strings.ContainsAny(n, "/%") || n == "." || n == ".." || len(n) > 253 {
		return usage("%q is not the name of an object%s", clip(n), map[bool]string{true: "; want TYPE NAME... or TYPE/NAME..."}[strings.Contains(n, "/")])
	}
	return nil
}

// targets asks the server what the types mean.
func (w wish) targets(ctx context.Context, c *client.Client, namespace string) ([]target, error) {
	api, err := discovery.Fetch(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, failed(err)
	}
	var found []kube.Resource
	names := map[kube.Resource][]string{}
	for _, t := range w.types {
		rs, err := api.Resolve(t)
		if err != nil {
			var unknown *discovery.UnknownError
			if errors.As(err, &unknown) && len(unknown.Suggestions) == 0 {
				return nil, failed(fmt.Errorf("%w at %s", err, c.Server()))
			}
			return nil, failed(err)
		}
		for _, r := range rs {
			if err := r.Watchable(); err != nil {
				return nil, failed(err)
			}
			if !slices.Contains(found, r.Resource) {
				found = append(found, r.Resource)
			} else if len(names[r.Resource]) == 0 || len(w.names[t]) == 0 {
				names[r.Resource] = nil // all was asked for, once
				continue
			}
			names[r.Resource] = append(names[r.Resource], w.names[t]...)
		}
	}
	var ts []target
	for _, r := range found {
		ts = append(ts, split(r, namespace, names[r])...)
	}
	return ts, nil
}

// split makes the targets of one type.
func split(r kube.Resource, namespace string, names []string) []target {
	t := target{resource: r, namespace: namespace}
	if !r.Namespaced {
		t.namespace = ""
	}
	names = distinct(names) // in the order in which they were asked for
	switch {
	case len(names) == 0:
		return []target{t}
	case len(names) > most:
		t.names = maps.Collect(func(yield func(string, bool) bool) {
			for _, n := range names {
				if !yield(n, true) {
					return
				}
			}
		})
		return []target{t}
	}
	var ts []target
	for _, n := range names {
		t.name = n
		ts = append(ts, t)
	}
	return ts
}

// distinct returns names without those that stand before.
func distinct(names []string) []string {
	var all []string
	for _, n := range names {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// fieldSelector adds the name to what the user asked for.
func (t target) fieldSelector(s kube.FieldSelector) (kube.FieldSelector, error) {
	if t.name == "" {
		return s, nil
	}
	text := "metadata.name=" + strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`).Replace(t.name)
	if !s.Empty() {
		text = s.String() + "," + text
	}
	return kube.ParseFieldSelector(text)
}

// severalTypes reports whether ts are of more than one type.
func severalTypes(ts []target) bool {
	for _, t := range ts {
		if t.resource != ts[0].resource {
			return true
		}
	}
	return false
}
