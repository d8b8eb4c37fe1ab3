package simulate

import (
	"encoding/json"
	"iter"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// object is the common part of all objects.
type object struct {
	Metadata metadata `json:"metadata"`

	body []byte // its bytes on the server
}

// base returns o; nil for nil.
func (o *object) base() *object { return o }

func (o *object) key() kube.Key {
	return kube.Key{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
}

type metadata struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	CreationTimestamp string            `json:"creationTimestamp,omitempty"`
	DeletionTimestamp string            `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	OwnerReferences   []owner           `json:"ownerReferences,omitempty"`
	Finalizers        []string          `json:"finalizers,omitempty"`
}

type owner struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         bool   `json:"controller"`
	BlockOwnerDeletion bool   `json:"blockOwnerDeletion"`
}

// controller returns the controller of o; zero if there is none.
func (m *metadata) controller() owner {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return o
		}
	}
	return owner{}
}

// ownedBy returns the reference of a new object to its controller.
func ownedBy(r kube.Resource, o *object) []owner {
	return []owner{{APIVersion: r.APIVersion(), Kind: r.Kind, Name: o.Metadata.Name, UID: o.Metadata.UID, Controller: true, BlockOwnerDeletion: true}}
}

// thing is a pointer to a struct that begins with object.
type thing interface{ base() *object }

// view is the last known state of a resource, whose objects are T.
type view[T thing] struct{ listing }

// listing is a view without its type.
type listing struct {
	resource kube.Resource
	fresh    func() thing
	rows     []row // in the order of the server
	known    map[kube.Key]thing
}

type row struct {
	key  kube.Key
	body []byte
	obj  thing // nil = cannot be decoded: it counts as absent
}

func newView[T thing](r kube.Resource, fresh func() thing) *view[T] {
	return &view[T]{listing{resource: r, fresh: fresh, known: map[kube.Key]thing{}}}
}

func (v *view[T]) get(k kube.Key) (T, bool) {
	o, ok := v.known[k].(T)
	return o, ok
}

// all yields the objects in the order of the server.
func (v *view[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, r := range v.rows {
			if o, ok := r.obj.(T); ok && !yield(o) {
				return
			}
		}
	}
}

// refresh calls saw for each difference since the last call, with nil for an object that is new
// or gone.
func (v *view[T]) refresh(srv *apitest.Server, saw func(old, now T)) {
	v.update(srv, func(old, now thing) {
		o, _ := old.(T)
		n, _ := now.(T)
		saw(o, n)
	})
}

// update is refresh. Objects of the server are immutable: the same bytes at the same address are
// the same object, and only others are decoded.
func (l *listing) update(srv *apitest.Server, saw func(old, now thing)) {
	bodies, _ := srv.List(l.resource)
	rows := make([]row, 0, len(bodies))
	old := l.rows
	type change struct{ old, now thing }
	var changes []change
	for _, b := range bodies {
		if len(old) > 0 && same(old[0].body, b) {
			rows, old = append(rows, old[0]), old[1:]
			continue
		}
		r := l.read(b)
		for len(old) > 0 && old[0].key.Compare(r.key) < 0 {
			changes = append(changes, change{old[0].obj, nil})
			old = old[1:]
		}
		var before thing
		if len(old) > 0 && old[0].key == r.key {
			if same(old[0].body, b) {
				r = old[0]
			}
			before, old = old[0].obj, old[1:]
		}
		if before != r.obj {
			changes = append(changes, change{before, r.obj})
		}
		rows = append(rows, r)
	}
	for _, r := range old {
		changes = append(changes, change{r.obj, nil})
	}
	l.rows = rows
	for _, ch := range changes {
		if ch.old != nil && (ch.now == nil || ch.old.base().Metadata.UID != ch.now.base().Metadata.UID) {
			delete(l.known, ch.old.base().key())
			saw(ch.old, nil)
			ch.old = nil // now is another object with the same name
		}
		if ch.now != nil {
			l.known[ch.now.base().key()] = ch.now
			saw(ch.old, ch.now)
		}
	}
}

func (l *listing) read(b []byte) row {
	o := l.fresh()
	if err := json.Unmarshal(b, o); err != nil {
		var name object // the error is elsewhere
		_ = json.Unmarshal(b, &name)
		return row{name.key(), b, nil}
	}
	o.base().body = b
	return row{o.base().key(), b, o}
}

// same reports whether a and b are the same bytes in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
