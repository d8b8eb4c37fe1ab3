package cache

import (
	"fmt"
	"io"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// RWStore is a [Store] that its owner changes: a loop over the events of a watch. An
// informer changes its own. Its methods are for one goroutine; those of the Store are
// safe for concurrent use.
//
//	store := cache.NewStore[Pod]()
//	for ev, err := range watch.New(pods, watch.Options{}).Events(ctx) {
//		if err == nil {
//			deltas := store.Apply(ev)
//			...
//		}
//	}
type RWStore[T kube.Object] struct {
	*Store[T]
}

// NewStore returns an empty store.
func NewStore[T kube.Object]() *RWStore[T] { return &RWStore[T]{newStore[T](1)} }

// Apply takes one event and returns what it changed, in order: nothing for an
// event that is older than what the store has, two deltas where an object was
// replaced by a namesake with another UID. The slice is valid until the next
// call.
//
// Where revisions are not numbers, and so cannot be ordered, every event that
// differs counts as newer; where an object has no revision, every event does. So does
// everything between RESTART and SYNCED: lists are consistent, and a server whose etcd
// was restored to an earlier state is right about it. In the first list after that,
// every object that exists counts as changed: the server gives out again the revisions
// of the history that it lost.
func (s *RWStore[T]) Apply(ev watch.Event[T]) []Delta[T] { return s.apply(0, ev) }

// Quarantine takes an event whose object could not be decoded, as Apply takes the
// others. The object exists, so the store keeps the last state that could be
// read, if there is one; a deletion is told with that state.
func (s *RWStore[T]) Quarantine(ev watch.Event[T]) []Delta[T] { return s.quarantine(0, ev) }

// Load fills a store to which nothing was applied yet with what Save wrote, and
// returns from where to watch on: the store counts as synced, so that when the
// revision has expired the list that follows yields the differences only, deletions
// included.
//
// On an error the store stays empty. Errors are a *SnapshotError or an error of
// r; a panic of T's UnmarshalJSON or of an index's function passes through. Every
// length is checked against a limit before it takes memory. Load is for the
// goroutine that applies events.
//
// Of a snapshot that an [Informer] saved it takes the store; see [Snapshot] for
// what else is in it.
func (s *RWStore[T]) Load(r io.Reader, b Binding) (Resume, error) {
	err := s.unused()
	var got persist.Loaded[T]
	objects := map[kube.Key]entry[T]{}
	if err == nil {
		got, err = persist.Read(r, b, persist.Decoder[T](), into(objects))
	}
	if err == nil {
		err = s.fill(objects, got.Revision)
	}
	if err != nil {
		return Resume{}, fmt.Errorf("load snapshot of %s: %w", b.Resource, err)
	}
	return got.Resume, nil
}

// LoadFile is Load from a file. Where there is none it fails with
// fs.ErrNotExist. A file that is foreign, damaged, newer or half-written is
// renamed to path+".bad-"+time, of which the last three are kept, so that a cold
// start may follow and somebody may look at it; SnapshotError.Aside says where.
//
// It also removes what a process that was killed while saving has left.
func (s *RWStore[T]) LoadFile(path string, b Binding) (Resume, error) {
	if err := s.unused(); err != nil {
		return Resume{}, fmt.Errorf("load snapshot of %s from %s: %w", b.Resource, path, err)
	}
	objects := map[kube.Key]entry[T]{}
	got, err := persist.ReadFile(path, b, persist.Decoder[T](), into(objects))
	if err != nil {
		return Resume{}, err
	}
	if err := s.fill(objects, got.Revision); err != nil {
		return Resume{}, fmt.Errorf("load snapshot of %s from %s: %w", b.Resource, path, err)
	}
	return got.Resume, nil
}
