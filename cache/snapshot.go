package cache

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
)

// Binding says what a snapshot is of: Cluster, Resource, Namespace, Labels, Fields, Shard,
// Query, Accept and Projection, and whether it may hold secrets (IncludeSecrets). A
// snapshot is loaded only where all of it is equal, and so is the JSON shape of T: its
// name, fields and tags.
type Binding = persist.Binding

// What errors of Save and Load are to errors.Is.
var (
	ErrSnapshotForeign = persist.ErrForeign                              // another cluster, resource, selector or type
	ErrSnapshotDamaged = persist.ErrDamaged                              // cut, half-written or changed
	ErrSnapshotNewer   = persist.ErrNewer                                // by a later release
	ErrSnapshotRefused = persist.ErrRefused                              // secrets, or a type that JSON does not carry
	ErrNotSynced       = errors.New("no listing is complete at present") // save later
)

// SnapshotError says why a snapshot cannot be taken or used: its Kind, which is one of
// the ErrSnapshot values, the Reason, the cause Err if there is one, and Aside, where
// LoadFile moved the file. Its text holds no part of an object.
type SnapshotError = persist.Error

// Resume says where a watch goes on from a snapshot: pass both to watch.Options.
// Revision is that of the snapshot. It is empty if the latest state of some object could
// not be decoded when the snapshot was taken: a watch without a revision, which lists,
// reads it again and yields the differences. Seen is the latest revision that the
// snapshot knows: a server that is behind it was restored to an earlier state.
type Resume = persist.Resume

// Save writes the store as it is at one moment, and its revision, to w. Readers
// and Apply go on meanwhile, but for the few milliseconds that it takes to copy
// the references. Whoever acts on deltas and must not miss a deletion calls it
// when all deltas so far have been acted upon: what is in a snapshot is not told
// again. A store of several namespaces cannot be saved.
//
// What is written is the JSON of each object, so T must survive it: a type with
// fields that JSON leaves out, or with a MarshalJSON and no UnmarshalJSON, or the
// reverse, is refused. It is neither compressed nor encrypted.
//
// It fails with a *SnapshotError, with ErrNotSynced before the first SYNCED and
// between RESTART and SYNCED, or with an error of w.
func (s *Store[T]) Save(w io.Writer, b Binding) error {
	head, err := persist.NewHeader[T](b)
	var m *persist.Snapshot[T]
	if err == nil {
		m, _, err = s.moment(head, nil)
	}
	if err == nil {
		err = m.Write(w)
	}
	if err != nil {
		return fmt.Errorf("save snapshot of %s: %w", b.Resource, err)
	}
	return nil
}

// SaveFile is Save to a file, which is replaced as a whole: after a crash at any
// moment, of the machine even, it is the old or the new one. It is readable by
// its owner only. When SaveFile has returned nil, the file is on the disk.
//
// A file belongs to one process: of two that save to it the last one wins.
func (s *Store[T]) SaveFile(path string, b Binding) error {
	head, err := persist.NewHeader[T](b)
	var m *persist.Snapshot[T]
	if err == nil {
		m, _, err = s.moment(head, nil)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		return fmt.Errorf("save snapshot of %s to %s: %w", b.Resource, path, err)
	}
	return nil
}

// moment takes the present state, and the generation of the listing that it is of: the
// same revision of another one may be another state. It copies what the map holds, not
// what that refers to. The objects that are owed are no longer in it, but a consumer has
// not acknowledged their deletion.
func (s *Store[T]) moment(head persist.Header, owed []persist.Record[T]) (m *persist.Snapshot[T], generation uint32, err error) {
	head.Time = time.Now().UTC()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.parts) != 1 {
		return nil, 0, errSources
	}
	p := s.parts[0]
	if !p.synced || p.listing || p.revision == "" {
		return nil, 0, ErrNotSynced
	}
	head.Revision, head.Objects, head.Owed = string(p.revision), int64(len(s.objects)), int64(len(owed))
	head.Unread = int64(len(s.unread))
	m = &persist.Snapshot[T]{Header: head, Records: make([]persist.Record[T], 0, len(s.objects)+len(owed))}
	for k, e := range s.objects {
		m.Records = append(m.Records, e.record(k))
	}
	m.Records = append(m.Records, owed...)
	return m, p.generation, nil
}

var (
	errSources = errors.New("the store has several sources")
	errInUse   = errors.New("the store is in use: load before the first event")
)

// decoder returns the function that makes an object of what Save wrote.
func decoder[T kube.Object](f func(T) (T, error)) func([]byte) (T, error) {
	decode := persist.Decoder[T]()
	if f == nil {
		return decode
	}
	return func(b []byte) (T, error) {
		o, err := decode(b)
		if err != nil {
			return o, err
		}
		return transform(f, o)
	}
}

// unused fails if an event was applied, or a snapshot loaded.
func (s *Store[T]) unused() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case len(s.parts) != 1:
		return errSources
	case s.parts[0] != part{} || len(s.objects) > 0:
		return errInUse
	}
	return nil
}

// fill makes objects, and rev, the state of a store that is unused.
func (s *Store[T]) fill(objects map[kube.Key]entry[T], rev kube.Revision) error {
	if err := s.unused(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	indexed := false
	defer func() {
		if !indexed { // a function panicked
			for _, x := range s.indexes {
				x.reset()
			}
		}
	}()
	for k, e := range objects {
		s.reindex(k, none, false, e.object, true)
	}
	indexed = true
	s.objects = objects
	s.parts[0] = part{revision: rev, synced: true}
	return nil
}

// record returns what a snapshot holds of an object of key k.
func (e entry[T]) record(k kube.Key) persist.Record[T] {
	return persist.Record[T]{Key: k, Object: e.object, UID: e.uid, Revision: e.revision}
}

// entryOf returns what a store holds of the object of a record.
func entryOf[T kube.Object](r persist.Record[T]) entry[T] {
	return entry[T]{object: r.Object, uid: r.UID, revision: r.Revision}
}

// into returns a function that adds the object of a record, and reports whether it is the
// first of its key.
func into[T kube.Object](objects map[kube.Key]entry[T]) func(persist.Record[T]) bool {
	return func(r persist.Record[T]) bool {
		n := len(objects)
		objects[r.Key] = entryOf(r)
		return len(objects) > n
	}
}
