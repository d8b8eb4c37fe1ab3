package simulate

import (
	"encoding/json"

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
type thing interface {
	comparable
	base() *object
}

// view is the last known state of a resource. An object that cannot be decoded counts
// as absent.
type view[T thing] struct {
	resource kube.Resource
	fresh    func() T
	rows     []row[T] // in the order of the server
	known    map[kube.Key]T
}

type row[T thing] struct {
	key  kube.Key
	body []byte
	obj  T // nil = cannot be decoded
}

func newView[T thing](r kube.Resource, fresh func() T) *view[T] {
	return &view[T]{resource: r, fresh: fresh, known: map[kube.Key]T{}}
}

func (v *view[T]) get(k kube.Key) (T, bool) {
	o, ok := v.known[k]
	return o, ok
}

// refresh calls saw for each difference since the last call. Objects of the server are
// immutable: the same bytes at the same address are the same object, and only others
// are decoded.
func (v *view[T]) refresh(srv *apitest.Server, saw func(old, now T)) {
	bodies, _ := srv.List(v.resource)
	rows := make([]row[T], 0, len(bodies))
	old := v.rows
	var none T
	type change struct{ old, now T }
	var changes []change
	for _, b := range bodies {
		if len(old) > 0 && same(old[0].body, b) {
			rows, old = append(rows, old[0]), old[1:]
			continue
		}
		r := v.read(b)
		for len(old) > 0 && old[0].key.Compare(r.key) < 0 {
			changes = append(changes, change{old[0].obj, none})
			old = old[1:]
		}
		before := none
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
		changes = append(changes, change{r.obj, none})
	}
	v.rows = rows
	for _, ch := range changes {
		if ch.old != none && (ch.now == none || ch.old.base().Metadata.UID != ch.now.base().Metadata.UID) {
			delete(v.known, ch.old.base().key())
			saw(ch.old, none)
			ch.old = none // now is another object with the same name
		}
		if ch.now != none {
			v.known[ch.now.base().key()] = ch.now
			saw(ch.old, ch.now)
		}
	}
}

func (v *view[T]) read(b []byte) row[T] {
	var none T
	o := v.fresh()
	if err := json.Unmarshal(b, o); err != nil {
		var name object // the error is elsewhere
		_ = json.Unmarshal(b, &name)
		return row[T]{name.key(), b, none}
	}
	o.base().body = b
	return row[T]{o.base().key(), b, o}
}

// same reports whether a and b are the same bytes in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
