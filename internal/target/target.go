package target

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

// Target is one collection to follow: a type, perhaps reduced to one name by a
// field selector, or to several by a filter of ours.
type Target struct {
	Resource  kube.Resource
	Namespace string // empty = all, or cluster scoped
	Name      string
	Names     map[string]bool // nil = all
	Apart     bool            // there are others of its type, in other namespaces
	Listed    bool            // it can be listed, and not watched
	Cluster   string          // a context; empty = there is one cluster
	Typed     string          // the type, as it was given; empty = nobody has typed it
	Absent    bool            // it is not served now; its kind, and perhaps its scope, is unknown
}

// Label names the target on stderr: pods, pods/a.
func (t Target) Label() string {
	label := t.Resource.GroupResource()
	if t.Cluster != "" {
		label = t.Cluster + ": " + label
	}
	if t.Name != "" {
		label += "/" + t.Name
	}
	if t.Apart && t.Namespace != "" {
		label += " in " + t.Namespace
	}
	return label
}

// Where names the namespace, for a message behind the label: where that does not.
func (t Target) Where() string {
	if t.Apart {
		return ""
	}
	return In(t.Namespace)
}

// Includes reports whether an object of this name is wanted.
func (t Target) Includes(name string) bool { return t.Names == nil || t.Names[name] }

// Wanted returns the names that were asked for; nil = all objects.
func (t Target) Wanted() []string {
	if t.Name != "" {
		return []string{t.Name}
	}
	return slices.Sorted(maps.Keys(t.Names))
}

// KubectlType is how kubectl writes a type before a name: pod, deployment.apps.
func KubectlType(r kube.Resource) string {
	return strings.TrimSuffix(strings.ToLower(r.Kind)+"."+r.Group, ".")
}

// most is how many names are watched one by one; a watch each costs the server
// less than a watch of all, up to about here.
const most = 8

// Wish is what the arguments ask for: types, each with the names in it.
type Wish struct {
	Types []string
	// Broken, which may be nil, is called with what [discovery.API.Broken] returns where all
	// types are asked for, otherwise with the part of it that did not respond in time.
	Broken func(map[string]error)
	// Before, which may be nil, returns types that the server had before, without kinds. One
	// that it does not have now is a Target that is Absent.
	Before func() []kube.Resource
	names  map[string][]string // by type; none = all
}

// Everything stands for all types that can be listed or watched.
const Everything = "*"

// Everything reports whether w asks for all types.
func (w Wish) Everything() bool { return slices.Equal(w.Types, []string{Everything}) }

// ParseArgs reads TYPE[,TYPE...] [NAME...], TYPE/NAME... or Everything.
func ParseArgs(args []string) (Wish, error) {
	w := Wish{names: map[string][]string{}}
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
		if slices.Contains(w.Types, Everything) && (len(w.Types) > 1 || len(args) > 1) {
			return w, exit.Usage("'*' is every type: give no other type and no name with it")
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

func (w *Wish) add(t string, names []string) error {
	if !slices.Contains(w.Types, t) {
		w.Types = append(w.Types, t)
	}
	for _, n := range names {
		if err := CheckName(n); err != nil {
			return err
		}
		if !slices.Contains(w.names[t], n) {
			w.names[t] = append(w.names[t], n)
		}
	}
	return nil
}

func CheckName(n string) error {
	if n == "" || strings.ContainsAny(n, "/%") || n == "." || n == ".." || len(n) > 253 {
		return exit.Usage("%q is not the name of an object%s", printable.Clip(n), map[bool]string{true: "; want TYPE NAME... or TYPE/NAME..."}[strings.Contains(n, "/")])
	}
	return nil
}

// Offered returns nil if the server offers what a command does with a resource, of
// which all objects are wanted or those with a name.
type Offered func(r discovery.Resource, named bool) error

// ToList: a list, or a GET of each name.
func ToList(r discovery.Resource, named bool) error {
	if r.Can("list") || named && r.Can("get") {
		return nil
	}
	verbs := strings.Join(r.Verbs, ", ")
	if verbs == "" {
		verbs = "nothing"
	}
	return fmt.Errorf("%s cannot be listed: the server offers only: %s", r.GroupResource(), printable.Clip(verbs))
}

// ToWatch: a watch, and a list where the watch cannot begin with all objects.
func ToWatch(r discovery.Resource, _ bool) error {
	err := r.Watchable()
	if err != nil && r.Can("list") {
		err = fmt.Errorf("%w; listwatch list shows it, and so does watch --once", err)
	}
	return err
}

// Targets asks the server of c what the types mean.
func (w Wish) Targets(ctx context.Context, c *client.Client, namespace string, can Offered) ([]Target, error) {
	api, err := discovery.Fetch(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, exit.Failed(err)
	}
	return w.In(api, c.Server(), namespace, can)
}

// In returns what the types mean to server, which serves api.
func (w Wish) In(api *discovery.API, server, namespace string, can Offered) ([]Target, error) {
	if w.Broken != nil {
		broken := api.Broken()
		if !w.Everything() { // a group that refuses costs nothing, one that does not respond some seconds
			maps.DeleteFunc(broken, func(_ string, err error) bool { return !errors.Is(err, client.ErrIdle) })
		}
		w.Broken(broken)
	}
	if w.Everything() {
		return everything(api, namespace, can)
	}
	var found []kube.Resource
	names, typed, unwatched := map[kube.Resource][]string{}, map[kube.Resource]string{}, map[kube.Resource]bool{}
	meant, err := w.resolve(api)
	if err != nil {
		if unknown, is := errors.AsType[*discovery.UnknownError](err); is && len(unknown.Suggestions) == 0 {
			err = fmt.Errorf("%w at %s", err, server)
		}
		return nil, exit.Failed(err)
	}
	for _, t := range w.Types {
		for _, r := range meant[t] {
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
	var ts []Target
	for _, r := range found {
		for _, t := range Split(r, namespace, names[r]) {
			t.Typed, t.Listed, t.Absent = typed[r], unwatched[r], r.Kind == ""
			ts = append(ts, t)
		}
	}
	return ts, nil
}

// sameAs are types whose objects are also those of another type.
var sameAs = map[string]string{"events.events.k8s.io": "events"}

// mostTypes limits '*': each type costs a request, and a watch of it some 50 KB.
const mostTypes = 5000

// everything returns a target for each type that api has, in the version that the server
// prefers.
func everything(api *discovery.API, namespace string, can Offered) (ts []Target, err error) {
	seen := map[string]bool{}
	for r := range api.All() {
		name := r.GroupResource()
		if seen[name] || seen[sameAs[name]] || can(r, false) != nil {
			continue
		}
		if seen[name] = true; len(ts) == mostTypes {
			return nil, exit.Failed(fmt.Errorf("'*': the server has more than %d types: name those that you need", mostTypes))
		}
		t := Split(r.Resource, namespace, nil)[0]
		t.Typed, t.Listed = Everything, !r.Can("watch")
		ts = append(ts, t)
	}
	return ts, nil
}

// Split makes the targets of one type.
func Split(r kube.Resource, namespace string, names []string) []Target {
	t := Target{Resource: r, Namespace: namespace}
	if !r.Namespaced {
		t.Namespace = ""
	}
	names = distinct(names) // in the order in which they were asked for
	switch {
	case len(names) == 0:
		return []Target{t}
	case len(names) > most:
		t.Names = maps.Collect(func(yield func(string, bool) bool) {
			for _, n := range names {
				if !yield(n, true) {
					return
				}
			}
		})
		return []Target{t}
	}
	var ts []Target
	for _, n := range names {
		t.Name = n
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

// FieldSelector adds the name to what the user asked for.
func (t Target) FieldSelector(s kube.FieldSelector) (kube.FieldSelector, error) {
	if t.Name == "" {
		return s, nil
	}
	text := "metadata.name=" + strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`).Replace(t.Name)
	if !s.Empty() {
		text = s.String() + "," + text
	}
	return kube.ParseFieldSelector(text)
}

// SeveralTypes reports whether ts are of more than one type.
func SeveralTypes(ts []Target) bool {
	for _, t := range ts {
		if t.Resource != ts[0].Resource {
			return true
		}
	}
	return false
}

func In(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
