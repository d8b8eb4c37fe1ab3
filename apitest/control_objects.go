package apitest

import (
	"errors"
	"fmt"
	"io"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/kube"
)

// Put creates or updates an object: JSON as []byte or string, or a value that encodes
// to it. It sets the fields that a server sets. status is stored as given, and the resourceVersion
// in obj is ignored. If the object is unchanged, nothing happens. It returns the object's
// revision.
func (s *Server) Put(r kube.Resource, obj any) kube.Revision {
	b, err := objectBytes(obj)
	if err != nil {
		s.fail("put %s: %v", r, err)
		return ""
	}
	var rv uint64
	s.locked(r, func(st *store.Store, t *store.Table) {
		var o *object.Object
		if _, bad := object.Parse(r, b); bad == nil && r != t.Info.Resource && (!t.Info.BuiltIn || t.Info.Resource == kube.Events) {
			if v := object.DecodeValue(b); v["apiVersion"] == r.APIVersion() {
				b = view.InVersion(b, t.Info.Resource) // that of its storage
			}
		}
		if o, err = object.Parse(t.Info.Resource, b); err == nil && o.Key.Name == "" {
			err = errors.New("it has no name")
		}
		if err == nil {
			rv = st.Put(t, o)
		}
	})
	if err != nil {
		s.fail("put %s: want an object with a name: %v", r, err)
	}
	return revision(rv)
}

// Edit changes an object without losing concurrent writes: it calls change with the object as
// JSON, nil if there is none, and stores the result as Put does; a nil result means no change. If
// somebody else writes the object meanwhile, change is called again with the new state. change
// must not modify old, and may call the server.
//
// It returns the object's revision, "" if there is no object.
func (s *Server) Edit(r kube.Resource, key kube.Key, change func(old []byte) any) kube.Revision {
	for {
		var old *object.Object
		s.locked(r, func(_ *store.Store, t *store.Table) { old = t.Get(key) })
		var before []byte
		var rv kube.Revision
		if old != nil {
			before, rv = old.Body, revision(old.Revision)
		}
		obj := change(before)
		if obj == nil {
			return rv
		}
		b, err := objectBytes(obj)
		stored := false
		s.locked(r, func(st *store.Store, t *store.Table) {
			var o *object.Object
			if err == nil {
				o, err = object.Parse(t.Info.Resource, b)
			}
			switch {
			case err == nil && o.Key != key:
				err = fmt.Errorf("the object is that of %s", o.Key)
			case err == nil && t.Get(key) == old:
				rv, stored = revision(st.Put(t, o)), true
			}
		})
		if err != nil {
			s.fail("edit %s %s: %v", r, key, err)
			return ""
		}
		if stored {
			return rv
		}
	}
}

// Delete deletes an object at once, whatever its finalizers, and returns the revision
// of the deletion; "" if there is no such object.
func (s *Server) Delete(r kube.Resource, key kube.Key) kube.Revision {
	var rv kube.Revision
	s.locked(r, func(st *store.Store, t *store.Table) {
		if t.Get(key) != nil {
			rv = revision(st.Commit(t, key, nil))
		}
	})
	return rv
}

// DeleteIf is Delete if want returns true for the current object. want must not modify
// it, and may call the server.
func (s *Server) DeleteIf(r kube.Resource, key kube.Key, want func(old []byte) bool) kube.Revision {
	for {
		var old *object.Object
		s.locked(r, func(_ *store.Store, t *store.Table) { old = t.Get(key) })
		if old == nil || !want(old.Body) {
			return ""
		}
		var rv kube.Revision
		s.locked(r, func(st *store.Store, t *store.Table) {
			if t.Get(key) == old {
				rv = revision(st.Commit(t, key, nil))
			}
		})
		if rv != "" {
			return rv
		}
	}
}

// Get returns an object as JSON, nil if there is none. The caller must not modify it.
func (s *Server) Get(r kube.Resource, key kube.Key) []byte {
	var b []byte
	s.locked(r, func(_ *store.Store, t *store.Table) {
		if o := t.Get(key); o != nil {
			b = o.Body
		}
	})
	return b
}

// List returns the objects of r, sorted by key, and their revision. The caller must not
// modify them.
func (s *Server) List(r kube.Resource) ([][]byte, kube.Revision) {
	var objects store.Collection
	var rv uint64
	s.locked(r, func(st *store.Store, t *store.Table) { objects, rv = t.Objects(), st.Now() })
	bodies := make([][]byte, 0, objects.Size())
	for o := range objects.All() {
		bodies = append(bodies, o.Body)
	}
	return bodies, revision(rv)
}

// CollectGarbage does the work of a garbage collector: it deletes objects without any
// existing owner, in whole chains, and completes foreground deletions and those that
// orphan their dependents. With Options.CollectGarbage it runs after each deletion, and
// after a client has created an object whose owners do not exist.
func (s *Server) CollectGarbage() {
	s.store.CollectAll()
}

// firstNamespaces exist from the start.
var firstNamespaces = [...]string{"default", "kube-node-lease", "kube-public", "kube-system"}

func (s *Server) addNamespaces() {
	for _, name := range firstNamespaces {
		if s.Get(kube.Namespaces, kube.Key{Name: name}) != nil {
			continue // it is in the state
		}
		s.Put(kube.Namespaces, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/metadata.name":%q}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, name, name))
	}
}

// Save writes the state of the server, for Options.State: all objects at one revision,
// which it returns, as a List in JSON that kubectl accepts too. It blocks writers only
// while the state is copied.
//
// A server that starts from the save of a running server begins with a much higher revision, so
// that clients list again. A save after Close has all writes: a server that starts from it begins
// with the last revision, and watches resume.
func (s *Server) Save(w io.Writer) (kube.Revision, error) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	rev, err := s.store.Save(w, ended)
	if err != nil {
		return "", err
	}
	return revision(rev), nil
}

// StateError reports why Options.State cannot be used. It quotes no object.
type StateError struct {
	Item   int // of the List, from 1; 0 = all of it
	Reason string
}

func (e *StateError) Error() string { return (*store.StateError)(e).Error() }
