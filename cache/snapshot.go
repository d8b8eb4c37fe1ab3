package cache

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Binding says what a snapshot is of. It is loaded only where all of it is
// equal, and so is the JSON shape of T: its name, fields and tags.
type Binding struct {
	// Cluster tells clusters apart; required. The UID of the namespace
	// kube-system does, which lives as long as its cluster.
	Cluster string

	Resource       kube.Resource
	Namespace      string        // empty = all
	Labels, Fields string        // selectors, as text
	Query          string        // what else each request asks for, encoded
	Accept         client.Accept // the form in which objects were asked for

	// Projection names what was done to the objects before they were stored,
	// and its version; empty = nothing. Change it with the transformation.
	Projection string

	// IncludeSecrets permits to write core/v1 secrets, in plain text, to a file
	// that only its owner can read. Default: they are refused. It is a
	// permission, not a part of what is compared.
	IncludeSecrets bool
}

// What errors of Save and Load are to errors.Is.
var (
	ErrSnapshotForeign = errors.New("snapshot of something else")        // another cluster, resource, selector or type
	ErrSnapshotDamaged = errors.New("damaged snapshot")                  // cut, half-written or changed
	ErrSnapshotNewer   = errors.New("snapshot of a newer format")        // by a later release
	ErrSnapshotRefused = errors.New("snapshot refused")                  // secrets, or a type that JSON does not carry
	ErrNotSynced       = errors.New("no listing is complete at present") // save later
)

// SnapshotError says why a snapshot cannot be taken or used. Its text holds no
// part of an object.
type SnapshotError struct {
	Kind   error  // one of the ErrSnapshot values
	Reason string // what is wrong
	Err    error  // the cause, where there is one
	Aside  string // where LoadFile moved the file; empty = it did not
}

func (e *SnapshotError) Error() string {
	s := e.Kind.Error() + ": " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Aside != "" {
		s += "; moved to " + e.Aside
	}
	return s
}

// Unwrap returns Kind and Err.
func (e *SnapshotError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// A moment is the state of a store between two events. Taking one copies what
// the map holds, not what that refers to.
type moment[T kube.Object] struct {
	head       snapshotHeader
	generation uint32      // of the listing: the same revision of another one may be another state
	records    []record[T] // the objects, then the deletions that are owed
}

type record[T kube.Object] struct {
	key kube.Key
	entry[T]
}

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
	head, err := newHeader[T](b)
	var m *moment[T]
	if err == nil {
		m, err = s.moment(head, nil)
	}
	if err == nil {
		err = m.write(w)
	}
	if err != nil {
		return fmt.Errorf("save snapshot of %s: %w", b.Resource, err)
	}
	return nil
}

// moment takes the present state. The objects that are owed are no longer in it,
// but a consumer that was told so has not dealt with it.
func (s *Store[T]) moment(head snapshotHeader, owed []record[T]) (*moment[T], error) {
	head.Time = time.Now().UTC()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.parts) != 1 {
		return nil, errSources
	}
	p := s.parts[0]
	if !p.synced || p.listing || p.revision == "" {
		return nil, ErrNotSynced
	}
	head.Revision, head.Objects, head.Owed = string(p.revision), int64(len(s.objects)), int64(len(owed))
	head.Unread = int64(len(s.unread))
	m := &moment[T]{head, p.generation, make([]record[T], 0, len(s.objects)+len(owed))}
	for k, e := range s.objects {
		m.records = append(m.records, record[T]{k, e})
	}
	m.records = append(m.records, owed...)
	return m, nil
}

var (
	errSources = errors.New("the store has several sources")
	errInUse   = errors.New("the store is in use: load before the first event")
)

// Resume says where a watch goes on from a snapshot: pass both to watch.Options.
type Resume struct {
	// Revision that the snapshot is of. It is empty if the latest state of some object
	// could not be decoded when the snapshot was taken: a watch without a revision,
	// which lists, reads it again and yields the differences.
	Revision kube.Revision

	// Seen is the latest revision that the snapshot knows. A server that is behind it
	// was restored to an earlier state, and may give out revisions of the snapshot's
	// objects again.
	Seen kube.Revision
}

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
func (s *Store[T]) Load(r io.Reader, b Binding) (Resume, error) {
	err := s.unused()
	var got loaded[T]
	if err == nil {
		got, err = readSnapshot[T](r, b, nil)
	}
	if err == nil {
		err = s.fill(got)
	}
	if err != nil {
		return Resume{}, fmt.Errorf("load snapshot of %s: %w", b.Resource, err)
	}
	return got.Resume, nil
}

// loaded is what a snapshot holds.
type loaded[T kube.Object] struct {
	Resume
	objects map[kube.Key]entry[T]
	owed    []record[T] // objects whose deletion is owed
	journal int         // number of the first file of the journal that is not in it
}

// readSnapshot also transforms the objects, unless transform is nil, and leaves out those
// for which that fails.
func readSnapshot[T kube.Object](r io.Reader, b Binding, transform func(T) (T, error)) (l loaded[T], err error) {
	want, err := newHeader[T](b)
	if err != nil {
		return l, err
	}
	in := newSnapshotReader(r)
	got, err := in.header()
	if err != nil {
		return l, err
	}
	if err := got.foreign(want); err != nil {
		return l, err
	}
	objects := make(map[kube.Key]entry[T], min(got.Objects, snapshotPresize))
	seen := kube.Revision(got.Revision)
	decode := decoder(transform)
	leftOut := int64(0)
	for range got.Objects {
		rec, err := loadRecord(in, decode)
		if isTransform(err) {
			leftOut++
			continue
		}
		if err != nil {
			return l, err
		}
		objects[rec.key] = rec.entry
		seen = later(seen, rec.revision)
	}
	var owed []record[T]
	for range got.Owed {
		rec, err := loadRecord(in, decode)
		if isTransform(err) {
			continue
		}
		if err != nil {
			return l, err
		}
		owed = append(owed, rec)
	}
	if err := in.end(); err != nil {
		return l, err
	}
	if int64(len(objects))+leftOut != got.Objects {
		return l, damaged("two objects of one name")
	}
	l = loaded[T]{Resume{kube.Revision(got.Revision), seen}, objects, owed, got.Journal}
	if got.Unread > 0 || leftOut > 0 { // no watch from there has them
		l.Revision = ""
	}
	return l, nil
}

// decoder returns the function that makes an object of what Save wrote.
func decoder[T kube.Object](f func(T) (T, error)) func([]byte) (T, error) {
	decode := formOf[T]().decode
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

// loadRecord reads and decodes the next record.
func loadRecord[T kube.Object](in *snapshotReader, decode func([]byte) (T, error)) (record[T], error) {
	var rec record[T]
	parts, err := in.record()
	if err != nil {
		return rec, err
	}
	if rec.object, err = decode(parts[fieldObject]); err != nil {
		return rec, &SnapshotError{Kind: ErrSnapshotDamaged, Reason: "an object that cannot be decoded", Err: err}
	}
	rec.key = kube.KeyOf(rec.object)
	if rec.key.Namespace != string(parts[fieldNamespace]) || rec.key.Name != string(parts[fieldName]) {
		return rec, damaged("an object under a name that is not its own")
	}
	// What the object holds is not kept twice.
	rec.uid = same(parts[fieldUID], ownUID(&rec.object))
	rec.revision = kube.Revision(same(parts[fieldRevision], rec.object.GetResourceVersion()))
	return rec, nil
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

// fill makes what was loaded the state of a store that is unused.
func (s *Store[T]) fill(l loaded[T]) error {
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
	for k, e := range l.objects {
		s.reindex(k, none, false, e.object, true)
	}
	indexed = true
	s.objects = l.objects
	s.parts[0] = part{revision: l.Revision, synced: true}
	return nil
}

// same returns b as a string: s, if it is that.
func same(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return string(b)
}

// ownUID returns the UID that an object tells, if it does.
func ownUID[T kube.Object](p *T) string {
	if o, ok := any(p).(interface{ GetUID() string }); ok { // no allocation
		return o.GetUID()
	}
	if o, ok := any(*p).(interface{ GetUID() string }); ok { // T is a pointer
		return o.GetUID()
	}
	return ""
}
