package apitest

import (
	"errors"
	"fmt"
	"io"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/kube"
)

// Put creates or updates an object: JSON as []byte or string, or a value that encodes to it. It
// sets the fields that a server sets. status is stored as given, and the resourceVersion in obj is
// ignored. If the object is unchanged, nothing happens. It returns the object's revision.
func (s *Server) Put(r kube.Resource, obj any) kube.Revision {
	rv, err := s.TryPut(r, obj)
	if err != nil {
		s.fail("put %s: %v", r, err)
	}
	return rv
}

// TryPut is Put for an object that others have made: where Put fails, TryPut returns an error.
func (s *Server) TryPut(r kube.Resource, obj any) (kube.Revision, error) {
	b, err := objectBytes(obj)
	if err != nil {
		return "", err
	}
	s.store.Lock()
	defer s.store.Unlock()
	t := s.store.Keeper(r)
	if t == nil {
		return "", fmt.Errorf("the server has no resource %s", r)
	}
	o, err := parse(t, r, b)
	if err != nil {
		return "", err
	}
	return revision(s.store.Put(t, o)), nil
}

// parse reads an object of r to store it in t.
func parse(t *store.Table, r kube.Resource, b []byte) (*object.Object, error) {
	o, err := object.Parse(t.Info.Resource, toStored(t.Info, r, b))
	if err == nil && o.Key.Name == "" {
		err = errors.New("it has no name")
	}
	return o, err
}

// Mirror makes a change of another server: it stores obj with all of its metadata but the
// resourceVersion, which is a new one even if the object is unchanged, or deletes the object
// key if obj is nil. It first serves r if it does not, and deletes an object of that name with
// another UID. It returns the revision; "" if there is nothing to delete, if the definition
// of r waits for its names, or if what is served as r has another kind or scope, as after the
// definition of a custom resource was replaced.
func (s *Server) Mirror(r ResourceInfo, key kube.Key, obj []byte) (kube.Revision, error) {
	var read func(*store.Table) (*object.Object, error)
	if obj != nil {
		read = func(t *store.Table) (*object.Object, error) { return parse(t, r.Resource, obj) }
	}
	rv, err := s.store.Mirror(kinds.Complete(r.info()), key, read)
	if rv == 0 {
		return "", err
	}
	return revision(rv), err
}

// converts reports whether objects of r are stored in another version, that of kept.
func converts(kept *object.Info, r kube.Resource) bool {
	return r.APIVersion() != kept.APIVersion() && (!kept.BuiltIn || kept.Resource == kube.Events)
}

// toStored returns an object that may be in the version of r in that of its storage.
func toStored(kept *object.Info, r kube.Resource, b []byte) []byte {
	if !converts(kept, r) {
		return b
	}
	if _, err := object.Parse(r, b); err == nil {
		if v := object.DecodeValue(b)["apiVersion"]; v == nil || v == r.APIVersion() {
			return view.InVersion(b, kept.Resource)
		}
	}
	return b
}

// fromStored returns an object that is stored as kept, nil for none, in the version of r.
func fromStored(kept *object.Info, r kube.Resource, o *object.Object) []byte {
	switch {
	case o == nil:
		return nil
	case converts(kept, r):
		return view.InVersion(o.Body, r)
	}
	return o.Body
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
		var before []byte
		s.locked(r, func(_ *store.Store, t *store.Table) {
			old = t.Get(key)
			before = fromStored(t.Info, r, old)
		})
		var rv kube.Revision
		if old != nil {
			rv = revision(old.Revision)
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
				o, err = object.Parse(t.Info.Resource, toStored(t.Info, r, b))
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
		var before []byte
		s.locked(r, func(_ *store.Store, t *store.Table) {
			old = t.Get(key)
			before = fromStored(t.Info, r, old)
		})
		if old == nil || !want(before) {
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

// Get returns an object as JSON, in the version of r; nil if there is none. The caller must
// not modify it.
func (s *Server) Get(r kube.Resource, key kube.Key) []byte {
	var b []byte
	s.locked(r, func(_ *store.Store, t *store.Table) { b = fromStored(t.Info, r, t.Get(key)) })
	return b
}

// List returns the objects of r, in its version, sorted by key, and their revision. The
// caller must not modify them.
func (s *Server) List(r kube.Resource) ([][]byte, kube.Revision) {
	var kept *object.Info
	var objects store.Collection
	var rv uint64
	s.locked(r, func(st *store.Store, t *store.Table) { kept, objects, rv = t.Info, t.Objects(), st.Now() })
	bodies := make([][]byte, 0, objects.Size())
	for o := range objects.All() {
		bodies = append(bodies, fromStored(kept, r, o))
	}
	return bodies, revision(rv)
}

// CollectGarbage does the work of a garbage collector: it deletes objects without any
// existing owner, in whole chains, and completes foreground deletions and those that
// orphan their dependents. With Options.CollectGarbage it runs after a client has deleted an
// object, created one with an owner that does not exist, or changed the owners of one; not
// after Delete, DeleteIf and Mirror.
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
