package cache

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
)

// SnapshotIdentity identifies the content of a snapshot. A snapshot is loaded only if all fields
// except IncludeSecrets are equal, and the JSON shape of T too: its name, fields and tags.
//
//   - Cluster is required: see [ClusterID].
//   - Resource is a kube.Resource, Accept a client.Accept.
//   - Namespace, Labels, Fields, Shard and Query are strings.
//   - Projection is the name of a transformation of the objects, with its version.
//   - IncludeSecrets is a bool: it permits Secrets in a snapshot.
type SnapshotIdentity = persist.Identity

// Kinds of errors of Save and Load, for errors.Is.
var (
	ErrSnapshotForeign = persist.ErrForeign // another cluster, resource, selector or type
	ErrSnapshotDamaged = persist.ErrDamaged // truncated, incomplete or changed
	ErrSnapshotNewer   = persist.ErrNewer   // written by a later release
	ErrSnapshotRefused = persist.ErrRefused // Secrets, or a type that JSON does not preserve
	// The first list, or a new one, is not complete: try later.
	ErrNotSynced = errors.New("no listing is complete at present")
)

// SnapshotError says why a snapshot cannot be saved or loaded. Its fields are the errors Kind (one
// of the ErrSnapshot values) and Err (the cause, or nil), and the texts Reason and Aside (the path
// to which LoadFile moved the file). Its text contains no part of an object.
type SnapshotError = persist.Error

// Resume is where a watch resumes after a snapshot: pass Revision and Seen to watch.Options.
// Revision is that of the snapshot. It is empty if the latest state of some object could not be
// decoded when the snapshot was saved: a watch without a revision lists, which reads the object
// again and yields the differences. Seen is the latest revision in the snapshot: a server that is
// behind it was restored to an earlier state.
type Resume = persist.Resume

// Save writes the current state of the store and its revision to w. Readers and Apply are
// blocked only for the few milliseconds that it takes to copy the references. Changes
// that the snapshot contains are not delivered again, so a program that must not miss a
// deletion calls Save after it has processed all deltas. A store of several namespaces
// cannot be saved.
//
// Objects are written as JSON, so JSON must preserve T: a type with fields that JSON
// leaves out, or with only one of MarshalJSON and UnmarshalJSON, is refused. The output
// is neither compressed nor encrypted.
//
// Errors are a *SnapshotError, ErrNotSynced before the first SYNCED and between RESTART
// and SYNCED, or an error of w.
func (s *Store[T]) Save(w io.Writer, b SnapshotIdentity) error {
	head, err := persist.NewHeader[T](b)
	var m *persist.Snapshot[T]
	if err == nil {
		m, _, err = s.storeSnapshot(head, nil)
	}
	if err == nil {
		err = m.Write(w)
	}
	if err != nil {
		return fmt.Errorf("save snapshot of %s: %w", b.Resource, err)
	}
	return nil
}

// SaveFile is Save to a file, which is replaced as a whole: after a crash, even of the
// machine, the file is the complete old one or the complete new one. Only its owner can
// read it. When SaveFile has returned nil, the file is on the disk.
//
// A file belongs to one process: if two save to it, the last one wins.
//
// Remove the file when watch.Trace.Ahead is called: the file is of a history that the server has
// lost, and a watch that resumes from it may miss changes. A [Snapshot] needs no such care.
func (s *Store[T]) SaveFile(path string, b SnapshotIdentity) error {
	head, err := persist.NewHeader[T](b)
	var m *persist.Snapshot[T]
	if err == nil {
		m, _, err = s.storeSnapshot(head, nil)
	}
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		return fmt.Errorf("save snapshot of %s to %s: %w", b.Resource, path, err)
	}
	return nil
}

// storeSnapshot returns the current state, and the generation of its list: the same revision in
// another list may be another state. It copies the map, not the objects. unacked are deleted
// objects whose deletion a consumer has not acknowledged.
func (s *Store[T]) storeSnapshot(head persist.Header, unacked []persist.Record[T]) (m *persist.Snapshot[T], generation uint32, err error) {
	head.Time = time.Now().UTC()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.parts) != 1 {
		return nil, 0, errSources
	}
	p := s.parts[0]
	if !p.synced || p.listing || p.restored || p.revision == "" {
		return nil, 0, ErrNotSynced
	}
	head.Revision, head.Objects, head.Unacked = string(p.revision), int64(len(s.objects)), int64(len(unacked))
	head.Unread = int64(len(s.unread.states))
	m = &persist.Snapshot[T]{Header: head, Records: make([]persist.Record[T], 0, len(s.objects)+len(unacked))}
	for k, e := range s.objects {
		m.Records = append(m.Records, e.record(k))
	}
	m.Records = append(m.Records, unacked...)
	return m, p.generation, nil
}

var (
	errSources = errors.New("the store has several sources")
	errInUse   = errors.New("the store is in use: load before the first event")
)

// decoder returns the function that decodes and transforms an object of a snapshot.
func decoder[T kube.Object](f func(T) (T, error)) func([]byte) (T, error) {
	decode := persist.Decoder[T]()
	return func(b []byte) (T, error) {
		o, err := decode(b)
		if f == nil || err != nil {
			return o, err
		}
		return transform(f, o)
	}
}

// unused fails if an event was applied or a snapshot was loaded.
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

// fill sets the objects and the revision of an unused store.
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

// lose notes that the state of a source is of a history that the server lost.
func (s *Store[T]) lose(source int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[source].restored = true
}

// record returns the snapshot record of an object with key k.
func (e entry[T]) record(k kube.Key) persist.Record[T] {
	return persist.Record[T]{Key: k, Object: e.object, UID: e.uid, Revision: e.revision}
}

// entryOf returns the store entry of a record.
func entryOf[T kube.Object](r persist.Record[T]) entry[T] {
	return entry[T]{object: r.Object, uid: r.UID, revision: r.Revision}
}

// into returns a function that adds the object of a record, and reports whether its key
// is new.
func into[T kube.Object](objects map[kube.Key]entry[T]) func(persist.Record[T]) bool {
	return func(r persist.Record[T]) bool {
		n := len(objects)
		objects[r.Key] = entryOf(r)
		return len(objects) > n
	}
}
