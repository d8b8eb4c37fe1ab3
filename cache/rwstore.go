package cache

import (
	"fmt"
	"io"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// RWStore is a [Store] for a program that loops over the events of a watch and applies
// them itself. (An informer applies events to its own store.) The methods of RWStore are
// for one goroutine; those of Store are safe for concurrent use.
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

// Apply applies one event and returns its changes, in order. For ADDED and MODIFIED there is
// one change; none if the store has this state or a newer one; two if the event replaces an
// object by one with the same name and another UID. For DELETED there is one change; none if
// the store does not have the object, or has a newer state. For SYNCED there are the deletions
// that the list shows. The slice is valid until the next call.
//
// A state is newer if its revision is a greater number. There are exceptions, in which each ADDED
// or MODIFIED with another revision is newer than the stored state: if one of the two revisions is
// empty or not a number, and between RESTART and SYNCED. A server whose etcd was restored assigns
// the same revisions again, to other states: in the first list after that, each object counts as
// changed, even with the same revision. Every ADDED or MODIFIED without a revision is a change.
func (s *RWStore[T]) Apply(ev watch.Event[T]) []Delta[T] { return s.apply(0, ev) }

// Quarantine applies an event whose object could not be decoded. The store keeps the last decoded
// state of an existing object, if any. The deletion of an object is delivered with that state.
func (s *RWStore[T]) Quarantine(ev watch.Event[T]) []Delta[T] { return s.quarantine(0, ev) }

// Load fills an unused store from what Save wrote, and returns where to resume the
// watch. The store counts as synced: if the revision has expired, the list that follows
// yields only the differences, deletions included.
//
// On an error the store stays empty. An error is a *SnapshotError or an error of r; a panic of T's
// UnmarshalJSON or of an index's function passes through. Every length is checked against a limit
// before memory is allocated. Load is for the goroutine that applies events.
//
// From a snapshot that an [Informer] saved, Load reads the store, but not the journal
// beside it; see [Snapshot].
func (s *RWStore[T]) Load(r io.Reader, b SnapshotIdentity) (Resume, error) {
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

// LoadFile is Load from a file. Without a file it fails with fs.ErrNotExist. A file that
// is foreign, damaged or newer is renamed to path+".bad-"+time, so that the program can start
// without it and the file can be examined; SnapshotError.Aside is its new path. The last three such
// files are kept.
//
// It also removes temporary files of a process that was killed while saving.
func (s *RWStore[T]) LoadFile(path string, b SnapshotIdentity) (Resume, error) {
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
