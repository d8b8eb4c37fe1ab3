package replay

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// fold converts events to changes: a list contains all existing objects, and thereby
// shows which ones were deleted.
type fold struct {
	resource kube.Resource
	known    map[kube.Key]lastState
	listing  []step // between RESTART and SYNCED; nil otherwise
	restart  bool
}

type lastState struct {
	uid, rev string
	object   []byte
	resource kube.Resource
}

func (f *fold) take(e *Entry) []step {
	switch watch.Type(e.Type) {
	case watch.Restart:
		f.restart, f.listing = true, nil
	case watch.Added, watch.Modified, watch.Deleted:
		st := step{at: e.At, rev: kube.Revision(e.Revision), resource: f.resource, object: e.Object,
			key: kube.Key{Namespace: e.Namespace, Name: e.Name}, uid: e.UID}
		if len(e.Object) > 0 {
			id, _ := codec.Skim(e.Object) // it was checked when it was read
			st.key, st.uid = kube.Key{Namespace: id.Namespace, Name: id.Name}, id.UID
		}
		if st.key.Name == "" {
			return nil
		}
		if watch.Type(e.Type) == watch.Deleted {
			st.object = nil
		} else if len(e.Object) == 0 {
			return nil // it could not be decoded
		}
		if f.restart {
			f.listing = append(f.listing, st)
			return nil
		}
		return f.change(st)
	case watch.Synced:
		return f.synced(e)
	}
	return nil
}

// change stores the new state, and first deletes an object with the same name and
// another UID.
func (f *fold) change(st step) []step {
	old, known := f.known[st.key]
	switch {
	case st.object == nil && !known:
		return nil
	case st.object == nil:
		delete(f.known, st.key)
		return []step{st}
	case known && old.rev == string(st.rev) && old.uid == st.uid && (bytes.Equal(old.object, st.object) || old.resource != st.resource):
		// A restored server gives a revision to another state. Events have a form in each group.
		return nil
	}
	f.known[st.key] = lastState{st.uid, string(st.rev), st.object, st.resource}
	if known && old.uid != st.uid {
		gone := st
		gone.object, gone.uid, gone.unseen, gone.number = nil, old.uid, true, 0
		return []step{gone, st}
	}
	return []step{st}
}

// synced ends a list: its objects follow in the order of their revisions, and then the
// deletion of those that it did not contain.
func (f *fold) synced(e *Entry) []step {
	listing := f.listing
	f.restart, f.listing = false, nil
	slices.SortStableFunc(listing, func(a, b step) int {
		c, _ := a.rev.Compare(b.rev) // 0 = unordered
		return c
	})
	seen := map[kube.Key]bool{}
	var steps, gone []step
	for _, st := range listing {
		seen[st.key] = true
		st.at = e.At // a list counts when it is complete
		steps = append(steps, f.change(st)...)
	}
	for key, old := range f.known {
		if !seen[key] {
			gone = append(gone, step{at: e.At, rev: kube.Revision(e.Revision), unseen: true, resource: f.resource, key: key, uid: old.uid})
			delete(f.known, key)
		}
	}
	slices.SortFunc(gone, func(a, b step) int { return a.key.Compare(b.key) })
	return append(steps, gone...)
}

// ObjectsAt returns the objects that existed in the streams of a recording at a time
// since Header.TimeBase, as JSON sorted by resource, namespace and name. A list
// counts when it is complete.
func (r *Recording) ObjectsAt(at time.Duration) [][]byte {
	type id struct {
		resource string
		key      kube.Key
	}
	objects, folds := map[id][]byte{}, map[int]*fold{}
	for _, e := range r.Entries {
		if e.At > at {
			continue
		}
		switch f := folds[e.ID]; {
		case e.Kind == KindStream:
			folds[e.ID] = &fold{resource: e.Target.Resource, known: map[kube.Key]lastState{}}
		case e.Kind == KindEvent && f != nil:
			for _, st := range f.take(e) {
				where := id{st.resource.String(), st.key}
				if objects[where] = st.object; st.object == nil {
					delete(objects, where)
				}
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(objects), func(a, b id) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), a.key.Compare(b.key))
	})
	var out [][]byte
	for _, where := range ids {
		out = append(out, objects[where])
	}
	return out
}
