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
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
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
	listed    bool            // it can be listed, and not watched
	typed     string          // the type, as it was given; empty = nobody has typed it
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

// wanted returns the names that were asked for; nil = all objects.
func (t target) wanted() []string {
	if t.name != "" {
		return []string{t.name}
	}
	return slices.Sorted(maps.Keys(t.names))
}

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
		return w, exit.Usage(`say which type, such as "pods", "deployments.apps,pods" or "pod/NAME"`)
	}
	if !strings.Contains(args[0], "/") {
		for t := range strings.SplitSeq(args[0], ",") {
			if t = strings.TrimSpace(t); t == "" {
				return w, exit.Usage("%q: a type is missing beside a comma", printable.Clip(args[0]))
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
			return w, exit.Usage("%q: where one argument is TYPE/NAME, all must be", printable.Clip(a))
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
		return exit.Usage("%q is not the name of an object%s", printable.Clip(n), map[bool]string{true: "; want TYPE NAME... or TYPE/NAME..."}[strings.Contains(n, "/")])
	}
	return nil
}

// offered returns nil if the server offers what a command does with a resource, of
// which all objects are wanted or those with a name.
type offered func(r discovery.Resource, named bool) error

// toList: a list, or a GET of each name.
func toList(r discovery.Resource, named bool) error {
	if r.Can("list") || named && r.Can("get") {
		return nil
	}
	verbs := strings.Join(r.Verbs, ", ")
	if verbs == "" {
		verbs = "nothing"
	}
	return fmt.Errorf("%s cannot be listed: the server offers only: %s", r.GroupResource(), printable.Clip(verbs))
}

// toWatch: a watch, and a list where the watch cannot begin with all objects.
func toWatch(r discovery.Resource, _ bool) error {
	err := r.Watchable()
	if err != nil && r.Can("list") {
		err = fmt.Errorf("%w; listwatch list shows it, and so does watch --once", err)
	}
	return err
}

// targets asks the server what the types mean.
func (w wish) targets(ctx context.Context, c *client.Client, namespace string, can offered) ([]target, error) {
	api, err := discovery.Fetch(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, exit.Failed(err)
	}
	var found []kube.Resource
	names, typed, unwatched := map[kube.Resource][]string{}, map[kube.Resource]string{}, map[kube.Resource]bool{}
	for _, t := range w.types {
		rs, err := api.Resolve(t)
		if err != nil {
			var unknown *discovery.UnknownError
			if errors.As(err, &unknown) && len(unknown.Suggestions) == 0 {
				return nil, exit.Failed(fmt.Errorf("%w at %s", err, c.Server()))
			}
			return nil, exit.Failed(err)
		}
		for _, r := range rs {
			if err := can(r, len(w.names[t]) > 0); err != nil {
				return nil, exit.Failed(err)
			}
			unwatched[r.Resource] = !r.Can("watch")
			if !slices.Contains(found, r.Resource) {
				found, typed[r.Resource] = append(found, r.Resource), t
			} else if len(names[r.Resource]) == 0 || len(w.names[t]) == 0 {
				names[r.Resource] = nil // all was asked for, once
				continue
			}
			names[r.Resource] = append(names[r.Resource], w.names[t]...)
		}
	}
	var ts []target
	for _, r := range found {
		for _, t := range split(r, namespace, names[r]) {
			t.typed, t.listed = typed[r], unwatched[r]
			ts = append(ts, t)
		}
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

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
