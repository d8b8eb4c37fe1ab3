package apitest

import (
	"errors"
	"fmt"
	"io"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/kube"
)

// Put creates or updates an object: JSON as []byte or string, or a value that
// encodes to it. It sets what the server sets; status is stored as given, the
// resourceVersion in obj is ignored. Putting what is there already changes
// nothing. It returns the object's revision.
func (s *Server) Put(r kube.Resource, obj any) kube.Revision {
	b, err := objectBytes(obj)
	if err != nil {
		s.fail("put %s: %v", r, err)
		return ""
	}
	var rv uint64
	s.locked(r, func(st *store.Store, t *store.Table) {
		var o *object.Object
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

// Edit changes an object without losing what others write meanwhile: it stores, as
// Put does, what change makes of old, the object as JSON, nil where there is none.
// If somebody else has written it before the result could be stored, change is
// called again with what they wrote. What change returns is as Put takes it; nil
// leaves everything as it is. change must not change old, and may use the server.
//
// It returns the object's revision, "" where there is no object.
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

// Delete removes an object at once, whatever its finalizers, and returns the
// revision of the deletion; "" if there is no such object.
func (s *Server) Delete(r kube.Resource, key kube.Key) kube.Revision {
	var rv kube.Revision
	s.locked(r, func(st *store.Store, t *store.Table) {
		if t.Get(key) != nil {
			rv = revision(st.Commit(t, key, nil))
		}
	})
	return rv
}

// DeleteIf is Delete for an object of which want holds, as it is at that moment.
// want is as the function that Edit takes.
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

// Get returns an object as JSON, nil if there is none. The caller must not
// change it.
func (s *Server) Get(r kube.Resource, key kube.Key) []byte {
	var b []byte
	s.locked(r, func(_ *store.Store, t *store.Table) {
		if o := t.Get(key); o != nil {
			b = o.Body
		}
	})
	return b
}

// List returns the objects of r, sorted by key, and the revision at which they
// are current. The caller must not change them.
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

// CollectGarbage does what the garbage collector of a cluster does: it deletes
// objects none of whose owners exists, in the whole chain, and ends deletions in
// the foreground and those that orphan their dependents. With
// Options.CollectGarbage it happens after each deletion.
func (s *Server) CollectGarbage() {
	s.store.CollectAll()
}

// firstNamespaces are there from the start.
var firstNamespaces = [...]string{"default", "kube-node-lease", "kube-public", "kube-system"}

func (s *Server) addNamespaces() {
	for _, name := range firstNamespaces {
		if s.Get(kube.Namespaces, kube.Key{Name: name}) != nil {
			continue // it was saved
		}
		s.Put(kube.Namespaces, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/metadata.name":%q}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, name, name))
	}
}

// Save writes the state of the server for Options.State: all objects as they are
// at one revision, which it returns, as a List in JSON that kubectl takes too.
// Writers wait only while the state is copied, not while it is written to w.
//
// A server that starts from a save of a running server begins with a revision far
// ahead, so that clients list again. After Close nothing can be lost: the next
// server begins with the last revision, and watches resume.
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

// StateError says why Options.State cannot be used. It quotes no object.
type StateError struct {
	Item   int // of the List, from 1; 0 = all of it
	Reason string
}

func (e *StateError) Error() string { return (*store.StateError)(e).Error() }
