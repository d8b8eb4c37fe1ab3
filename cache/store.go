package cache

import (
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Store is the state of one collection. It is read-only; a program with its own watch instead of
// an informer changes it through a [RWStore]. It is safe for concurrent use. Objects are shared
// with all readers: treat them as immutable.
type Store[T kube.Object] struct {
	mu      sync.RWMutex
	objects map[kube.Key]entry[T]
	parts   []part     // by source
	unread  unreadable // those whose latest state could not be decoded
	indexes []indexer[T]

	deltas []Delta[T] // reused by Apply
}

type entry[T kube.Object] struct {
	object   T
	uid      string
	revision kube.Revision
	mark
}

// mark is the source and list that delivered an object last.
type mark struct {
	part       uint32 // the source that delivered it
	generation uint32 // of that source's list that delivered it last
}

// part is the progress of one source. A store has one source, or one for each of
// several namespaces.
type part struct {
	revision   kube.Revision
	generation uint32 // number of the list in progress or ended last
	listing    bool   // between RESTART and SYNCED
	restored   bool   // until a list is completed: the server was restored, and assigns revisions again
	synced     bool   // a list was completed, or a snapshot loaded; stays true during another list
}

func newStore[T kube.Object](sources int) *Store[T] {
	return &Store[T]{objects: map[kube.Key]entry[T]{}, parts: make([]part, sources)}
}

// apply applies an event of one of the sources, in any order. Calls must not be concurrent.
func (s *Store[T]) apply(source int, ev watch.Event[T]) []Delta[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.begin(source)
	switch ev.Type {
	case watch.Restart:
		p.generation++
		p.listing = true
		p.restored = p.restored || errors.Is(ev.Cause, watch.ErrAhead)
	case watch.Added, watch.Modified:
		s.unread.remove(ev.Key)
		s.put(uint32(source), p, ev)
	case watch.Deleted:
		s.unread.remove(ev.Key)
		s.remove(ev)
	case watch.Synced:
		s.sweep(uint32(source), p, ev.Revision)
	}
	p.advance(ev.Revision)
	return s.deltas
}

// restore applies a state of the journal, which was written after the snapshot that the
// store was filled with. It is the latest known state, whatever its revision.
func (s *Store[T]) restore(r persist.Record[T]) []Delta[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(0)
	d := Delta[T]{Type: watch.Added, Key: r.Key, UID: r.UID, New: r.Object, Revision: r.Revision, Initial: true}
	old, known := s.objects[r.Key]
	if known && sameUID(old.uid, r.UID) {
		d.Type, d.Old = watch.Modified, old.object
	} else if known {
		s.deltas = append(s.deltas, replacedBy(r.Key, old, r.Revision))
	}
	s.reindex(r.Key, old.object, known, r.Object, true)
	s.objects[r.Key] = entryOf(r)
	s.deltas = append(s.deltas, d)
	return s.deltas
}

// replacedBy returns the deletion of e, whose key another object has from revision rev on.
func replacedBy[T kube.Object](k kube.Key, e entry[T], rev kube.Revision) Delta[T] {
	return Delta[T]{Type: watch.Deleted, Key: k, UID: e.uid, Old: e.object, New: e.object, Revision: rev, Inferred: true}
}

// begin clears the deltas for an event of source.
func (s *Store[T]) begin(source int) *part {
	clear(s.deltas) // release the objects
	s.deltas = s.deltas[:0]
	return &s.parts[source]
}

// advance moves p to rev, except during a list, whose objects are in no order.
func (p *part) advance(rev kube.Revision) {
	if !p.listing && rev != "" {
		p.revision = rev
	}
}

func (s *Store[T]) put(source uint32, p *part, ev watch.Event[T]) {
	old, known := s.objects[ev.Key]
	d := Delta[T]{
		Type: watch.Added, Key: ev.Key, UID: ev.UID, New: ev.Object, Revision: ev.Revision,
		Initial: p.listing && !p.synced, Inferred: p.listing && p.synced,
	}
	if known {
		same := sameUID(old.uid, ev.UID)
		if same && old.is(ev.Revision, p) || !p.listing && old.revision.Newer(ev.Revision) {
			s.seen(old, source, p)
			return
		}
		if same {
			d.Type, d.Old = watch.Modified, old.object
		} else {
			s.deltas = append(s.deltas, replacedBy(ev.Key, old, ev.Revision))
		}
	}
	s.reindex(ev.Key, old.object, known, ev.Object, true)
	s.objects[ev.Key] = entry[T]{ev.Object, ev.UID, ev.Revision, mark{source, p.generation}}
	s.deltas = append(s.deltas, d)
}

// is reports whether e is the state at revision rev, if revisions can show that:
// objects may have none, and a server that was restored assigns them again.
func (e *entry[T]) is(rev kube.Revision, p *part) bool {
	return rev != "" && rev == e.revision && (!p.restored || e.generation == p.generation)
}

// seen marks e as part of the list in progress, if there is one.
func (s *Store[T]) seen(e entry[T], source uint32, p *part) {
	if !p.listing {
		return
	}
	// The key must be the object's own: a map keeps the strings of the assigned key,
	// and those of an event would keep its object in memory.
	e.mark = mark{source, p.generation}
	s.objects[kube.KeyOf(e.object)] = e
}

func (s *Store[T]) remove(ev watch.Event[T]) {
	old, known := s.objects[ev.Key]
	if !known || !sameUID(old.uid, ev.UID) || old.revision.Newer(ev.Revision) {
		return // unknown, or replaced since
	}
	s.drop(old, Delta[T]{Type: watch.Deleted, Key: ev.Key, UID: old.uid, Old: old.object, New: ev.Object, Revision: ev.Revision})
}

// drop deletes e by the delta d.
func (s *Store[T]) drop(e entry[T], d Delta[T]) {
	var none T
	s.reindex(d.Key, e.object, true, none, false)
	delete(s.objects, d.Key)
	s.deltas = append(s.deltas, d)
}

// sweep removes the objects that the list of a source did not contain.
func (s *Store[T]) sweep(source uint32, p *part, rev kube.Revision) {
	for key, e := range s.objects {
		if e.part != source || e.generation == p.generation {
			continue
		}
		s.drop(e, Delta[T]{
			Type: watch.Deleted, Key: key, UID: e.uid, Old: e.object, New: e.object, Revision: rev, Inferred: true,
		})
	}
	s.unread.sweep(mark{source, p.generation})
	slices.SortFunc(s.deltas, func(a, b Delta[T]) int { return a.Key.Compare(b.Key) })
	p.listing, p.restored, p.synced = false, false, true
}

// sameUID: objects without a known UID count as the same.
func sameUID(a, b string) bool { return a == b || a == "" || b == "" }

func (s *Store[T]) quarantine(source int, ev watch.Event[T]) []Delta[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.begin(source)
	old, known := s.objects[ev.Key]
	if ev.Type == watch.Deleted {
		s.unread.remove(ev.Key)
	} else if !known || p.listing || !old.revision.Newer(ev.Revision) {
		s.unread.add(ev.Key, unreadState{ev.Revision, mark{uint32(source), p.generation}})
	}
	switch {
	case !known:
	case ev.Type == watch.Deleted:
		ev.Object = old.object
		s.remove(ev)
	case !p.listing && old.revision.Newer(ev.Revision): // an older state
	case !sameUID(old.uid, ev.UID):
		// An object with the same name that cannot be decoded has replaced it.
		s.drop(old, replacedBy(ev.Key, old, ev.Revision))
	default:
		if old.revision.Newer(ev.Revision) { // the server was restored; later revisions may be lower still
			old.revision = ev.Revision
		}
		s.seen(old, uint32(source), p)
	}
	p.advance(ev.Revision)
	return s.deltas
}

// Get returns the object of key k; false = there is none.
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

// Revision returns the revision that the store has reached; empty before the first
// SYNCED. With several sources it is the lowest of theirs.
func (s *Store[T]) Revision() kube.Revision {
	rev, _ := s.reached()
	return rev
}

// reached returns Revision, and whether it may belong to a history that the server lost.
func (s *Store[T]) reached() (least kube.Revision, lost bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	least, lost = s.parts[0].revision, s.parts[0].restored
	for _, p := range s.parts[1:] {
		if p.revision == "" || least.Newer(p.revision) {
			least = p.revision
		}
		lost = lost || p.restored
	}
	return least, lost
}

// Synced reports whether every source has completed a list, or loaded a snapshot. It stays true
// while a source lists again.
func (s *Store[T]) Synced() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.parts {
		if !p.synced {
			return false
		}
	}
	return true
}

// All yields the objects in no order, as they are when the loop begins. The store may
// change meanwhile.
func (s *Store[T]) All() iter.Seq2[kube.Key, T] {
	return func(yield func(kube.Key, T) bool) {
		for _, p := range s.within("") {
			if !yield(p.key, p.object) {
				return
			}
		}
	}
}

// entries is like All, with the whole entries.
func (s *Store[T]) entries() iter.Seq2[kube.Key, entry[T]] {
	return func(yield func(kube.Key, entry[T]) bool) {
		type pair struct {
			key   kube.Key
			entry entry[T]
		}
		s.mu.RLock()
		pairs := make([]pair, 0, len(s.objects))
		for k, e := range s.objects {
			pairs = append(pairs, pair{k, e})
		}
		s.mu.RUnlock()
		for _, p := range pairs {
			if !yield(p.key, p.entry) {
				return
			}
		}
	}
}

func (s *Store[T]) entry(k kube.Key) (entry[T], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.objects[k]
	return e, ok
}
