package cache

import (
	"iter"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Store is the state of one collection. Apply and Keep are for one goroutine,
// the one that watches; everything else is safe for concurrent use. Objects are
// shared with all readers: treat them as immutable.
type Store[T kube.Object] struct {
	mu         sync.RWMutex
	objects    map[kube.Key]entry[T]
	revision   kube.Revision
	generation uint32 // of the listing under way or last ended
	listing    bool   // between RESTART and SYNCED
	synced     bool   // one listing was completed

	deltas []Delta[T] // reused by Apply
}

type entry[T kube.Object] struct {
	object     T
	uid        string
	revision   kube.Revision
	generation uint32 // of the listing that told it last
}

// NewStore returns an empty store.
func NewStore[T kube.Object]() *Store[T] {
	return &Store[T]{objects: map[kube.Key]entry[T]{}}
}

// Apply takes one event and returns what it changed, in order: nothing for an
// event that is older than what the store has, two deltas where an object was
// replaced by a namesake with another UID. The slice is valid until the next
// call.
//
// Where revisions are not numbers, and so cannot be ordered, every event that
// differs counts as newer. So does everything between RESTART and SYNCED: lists
// are consistent, and a server whose etcd was restored to an earlier state is
// right about it.
func (s *Store[T]) Apply(ev watch.Event[T]) []Delta[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.deltas) // let go of the objects
	s.deltas = s.deltas[:0]
	switch ev.Type {
	case watch.Restart:
		s.generation++
		s.listing = true
	case watch.Added, watch.Modified:
		s.put(ev)
	case watch.Deleted:
		s.remove(ev)
	case watch.Synced:
		s.sweep(ev.Revision)
	}
	if !s.listing && ev.Revision != "" {
		s.revision = ev.Revision
	}
	return s.deltas
}

func (s *Store[T]) put(ev watch.Event[T]) {
	key, rev := ev.Key, ev.Revision
	old, known := s.objects[key]
	d := Delta[T]{
		Type: watch.Added, Key: key, UID: ev.UID, New: ev.Object, Revision: rev,
		Initial: s.listing && !s.synced, Inferred: s.listing && s.synced,
	}
	if known {
		old.generation = s.generation // it exists, whatever else
		s.objects[key] = old
		if rev == old.revision && sameUID(old.uid, ev.UID) || !s.listing && old.revision.Newer(rev) {
			return
		}
		if sameUID(old.uid, ev.UID) {
			d.Type, d.Old = watch.Modified, old.object
		} else {
			s.deltas = append(s.deltas, Delta[T]{
				Type: watch.Deleted, Key: key, UID: old.uid, Old: old.object, New: old.object,
				Revision: rev, Inferred: true,
			})
		}
	}
	s.objects[key] = entry[T]{ev.Object, ev.UID, rev, s.generation}
	s.deltas = append(s.deltas, d)
}

func (s *Store[T]) remove(ev watch.Event[T]) {
	key, rev := ev.Key, ev.Revision
	old, known := s.objects[key]
	if !known || !sameUID(old.uid, ev.UID) || old.revision.Newer(rev) {
		return // never seen, or replaced since
	}
	delete(s.objects, key)
	s.deltas = append(s.deltas, Delta[T]{Type: watch.Deleted, Key: key, UID: old.uid, Old: old.object, New: ev.Object, Revision: rev})
}

// sweep removes what the listing did not tell.
func (s *Store[T]) sweep(rev kube.Revision) {
	for key, e := range s.objects {
		if e.generation == s.generation {
			continue
		}
		delete(s.objects, key)
		s.deltas = append(s.deltas, Delta[T]{
			Type: watch.Deleted, Key: key, UID: e.uid, Old: e.object, New: e.object, Revision: rev, Inferred: true,
		})
	}
	slices.SortFunc(s.deltas, func(a, b Delta[T]) int { return a.Key.Compare(b.Key) })
	s.listing, s.synced = false, true
}

// sameUID: an unknown UID is no reason to tell two objects apart.
func sameUID(a, b string) bool { return a == b || a == "" || b == "" }

// Keep says that the object of key k exists, though its present state could not
// be decoded: the store keeps the last good one, if any, through the listing.
func (s *Store[T]) Keep(k kube.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.objects[k]; ok {
		e.generation = s.generation
		s.objects[k] = e
	}
}

// Get returns the object of key k, and whether there is one.
func (s *Store[T]) Get(k kube.Key) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.objects[k]
	return e.object, ok
}

// Len returns the number of objects.
func (s *Store[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}

// Revision returns the revision that the store has reached; empty before the
// first SYNCED.
func (s *Store[T]) Revision() kube.Revision {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.revision
}

// Synced reports whether a listing was completed.
func (s *Store[T]) Synced() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.synced
}

// All yields the objects in no order, as of the moment the loop begins. The
// store may be changed meanwhile.
func (s *Store[T]) All() iter.Seq2[kube.Key, T] {
	return func(yield func(kube.Key, T) bool) {
		type pair struct {
			key    kube.Key
			object T
		}
		s.mu.RLock()
		pairs := make([]pair, 0, len(s.objects))
		for k, e := range s.objects {
			pairs = append(pairs, pair{k, e.object})
		}
		s.mu.RUnlock()
		for _, p := range pairs {
			if !yield(p.key, p.object) {
				return
			}
		}
	}
}
