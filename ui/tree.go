package ui

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/refs"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// node of a tree of owners.
type node struct {
	Type     string  `json:"type"`
	Kind     string  `json:"kind"`
	NS       string  `json:"ns,omitempty"`
	Name     string  `json:"name"`
	UID      string  `json:"uid"`
	Status   string  `json:"status,omitempty"`
	Self     bool    `json:"self,omitempty"`
	Missing  bool    `json:"missing,omitempty"`
	Unknown  bool    `json:"unknown,omitempty"` // missing, as its type is not watched
	More     int     `json:"more,omitempty"`
	Children []*node `json:"children"`
}

const (
	maxChildren = 200 // of a node
	maxNodes    = 2000
	maxOwners   = 20 // levels
)

// forest is what the watched types say of owners, as of one moment.
type forest struct {
	byUID  map[string]*item
	owned  map[string][]*item // by the UID of the owner
	nodes  int
	unseen []string // types that were not searched
	soon   []string // types whose first list is running
	seen   []string

	about  subject
	namers []*item // that may name it
}

// maxNamers is how many objects are searched for the name of another one.
const maxNamers = 2000

// getTree returns the owners of an object and what it owns, and with refs=1 what it names and
// what names it, as far as the types are watched.
func (u *UI) getTree(s *session, r *http.Request) (any, error) {
	var at int64
	sub, err := u.subject(r.Context(), s, r.URL.Query())
	if err = cmp.Or(err, number(r.URL.Query(), "at", &at)); err != nil {
		return nil, err
	}
	sub.kind.mu.Lock()
	if gone := sub.life.gone; gone > 0 && (at == 0 || at >= gone) {
		at = gone - 1 // what it belonged to when it was deleted
	}
	sub.kind.mu.Unlock()
	f := u.forest(r.Context(), s, sub, at, r.URL.Query().Get("search") == "1")
	top := f.byUID[sub.life.uid]
	if top == nil { // it is gone: what it owned may be left
		top = &item{life: sub.life}
	}
	var missing *node
	for range maxOwners {
		owners := top.owners()
		if len(owners) == 0 {
			break
		}
		o := owners[0]
		parent := f.byUID[o.uid]
		if parent == nil || !parent.owns(top) {
			typ := u.typeOf(o)
			missing = &node{Type: typ, Kind: o.kind, NS: top.key.Namespace, Name: o.name, UID: o.uid, Missing: true, Unknown: !slices.Contains(f.seen, typ)}
			break
		}
		top = parent
	}
	root := f.grow(top, sub.life, 0)
	if missing != nil {
		missing.Children = []*node{root}
		root = missing
	}
	out := map[string]any{"root": root, "searched": f.seen, "loading": f.soon, "unsearched": f.unseen, "at": at}
	if r.URL.Query().Get("refs") == "1" {
		out["names"], out["named"] = f.refs(u, at)
		out["unread"] = max(0, len(f.namers)-maxNamers)
	}
	return out, nil
}

// refs returns what the object names, and what names it, at a time that may be 0.
func (f *forest) refs(u *UI, at int64) (names, by []refs.Ref) {
	names, by = []refs.Ref{}, []refs.Ref{}
	l := f.about.life
	if st, ok := u.history.At(&l.past, cmp.Or(at, math.MaxInt64)); ok {
		text, _ := u.history.JSON(&l.past, st.Pos) // an error: it was dropped meanwhile
		names = refs.Of(l.kind.id, text)
	}
	slices.SortFunc(f.namers, byTypeAndKey)
	for _, i := range f.namers[:min(len(f.namers), maxNamers)] {
		text, _ := u.history.JSON(&i.past, i.pos)
		for _, r := range refs.Of(i.kind.id, text) {
			if r.Type == l.kind.id && r.NS == l.key.Namespace && r.Name == l.key.Name {
				by = append(by, refs.Ref{Type: i.kind.id, NS: i.key.Namespace, Name: i.key.Name, As: r.As})
			}
		}
	}
	return names, by
}

// about are the places of what belongs to an object: its own namespace, if it has one. Bindings
// of an account may be in any.
func (s *session) about(u *UI, sub subject) []string {
	if ns := sub.life.key.Namespace; ns != "" && sub.kind.id != "serviceaccounts" {
		return []string{ns}
	}
	return s.places(u)
}

// forest collects the objects of all watched types that a session may see, and that may
// belong to one: as they are, or at a time that is not 0.
func (u *UI) forest(ctx context.Context, s *session, sub subject, at int64, search bool) *forest {
	f := &forest{byUID: map[string]*item{}, owned: map[string][]*item{}, unseen: []string{}, soon: []string{}, seen: []string{}, about: sub}
	places := s.about(u, sub)
	for _, k := range u.types() {
		if k.id == "events" {
			continue
		}
		sees, err := s.sees(ctx, k, places)
		if err != nil {
			continue
		}
		k.mu.Lock()
		if search && !k.watched() && k.count != 0 && !k.secret() {
			k.start()
		}
		switch {
		case at > 0 && !k.unknown(at) && !slices.ContainsFunc(k.known(), func(g gaps.Gap) bool { return g.Idle && g.Has(at) }):
			f.seen = append(f.seen, k.id)
		case at > 0:
			f.unseen = append(f.unseen, k.id)
		case k.state == stateLoading:
			f.soon = append(f.soon, k.id)
		case !k.watched() && k.count != 0:
			f.unseen = append(f.unseen, k.id)
		case k.watched():
			f.seen = append(f.seen, k.id)
		}
		may, anywhere := refs.May(k.id, sub.kind.id), sub.life.key.Namespace == "" || sub.kind.id == "serviceaccounts"
		for i := range k.items(at) {
			if sees != nil && !sees(i.key.Namespace) {
				continue
			}
			f.byUID[i.uid] = i
			named := !may // by its owner, which is read in its place
			for _, o := range i.owners() {
				f.owned[o.uid] = append(f.owned[o.uid], i)
				named = named || refs.OwnerMay(o.kind, sub.kind.id)
			}
			if !named && (!k.res.Namespaced || anywhere || sub.life.key.Namespace == i.key.Namespace) {
				f.namers = append(f.namers, i)
			}
		}
		k.mu.Unlock()
	}
	return f
}

// owns reports whether i may own another object, which says so itself: an owner is in the
// same namespace, or in none.
func (i *item) owns(other *item) bool {
	return i.key.Namespace == "" || i.key.Namespace == other.key.Namespace
}

// typeOf guesses the type of an owner from what is served.
func (u *UI) typeOf(o owner) string {
	group, _, found := strings.Cut(o.apiVersion, "/")
	if !found {
		group = ""
	}
	for _, k := range u.types() {
		k.mu.Lock()
		found := k.res.Kind == o.kind && k.res.Group == group
		k.mu.Unlock()
		if found {
			return k.id
		}
	}
	return ""
}

// grow returns the node of i with all below it.
func (f *forest) grow(i *item, self *life, depth int) *node {
	f.nodes++
	i.kind.mu.Lock()
	n := &node{Type: i.kind.id, Kind: i.kind.res.Kind, NS: i.key.Namespace, Name: i.key.Name, UID: i.uid, Self: i.life == self, Missing: i.cells == "", Status: i.status(), Children: []*node{}}
	i.kind.mu.Unlock()
	children := f.owned[i.uid]
	slices.SortFunc(children, byTypeAndKey)
	for _, c := range children {
		if !i.owns(c) {
			continue
		}
		if len(n.Children) == maxChildren || f.nodes >= maxNodes || depth >= maxOwners {
			n.More++
			continue
		}
		n.Children = append(n.Children, f.grow(c, self, depth+1))
	}
	return n
}

func byTypeAndKey(a, b *item) int {
	return cmp.Or(strings.Compare(a.kind.id, b.kind.id), byKey(a, b))
}

// status is the cell that says how an object is: that of a column named Status, or Ready.
// Holds the mutex of its kind.
func (i *item) status() string {
	var parts []string
	for _, name := range []string{"Ready", "Status", "Desired", "Completions"} {
		for n, c := range i.kind.columns {
			if c.Name != name || n >= i.cells.Len() {
				continue
			}
			if cell := i.cells.Cell(n); name == "Desired" && len(parts) == 1 {
				parts[0] += "/" + cell // as of those whose Ready is 3/4
			} else {
				parts = append(parts, cell)
			}
		}
	}
	return strings.Join(parts, " ")
}

// getLogs streams the log of a container.
func (u *UI) getLogs(w http.ResponseWriter, r *http.Request) {
	s, err := u.session(r, r.Header.Get(header))
	if err == nil {
		err = u.logs(s, w, r)
	}
	if err != nil {
		refusal.Write(w, err)
	}
}

// nameOf checks the name of an object that stands in the path of a request.
func nameOf(ns, name string) (kube.Key, error) {
	for _, s := range []string{ns, name} {
		if s == "" || kube.CheckName(s) != nil {
			return kube.Key{}, refusal.Invalid("ns and name are those of a pod")
		}
	}
	return kube.Key{Namespace: ns, Name: name}, nil
}
