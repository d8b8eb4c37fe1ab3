package persist

import (
	"errors"
	"io"

	"github.com/listwatch/listwatch/internal/uid"
	"github.com/listwatch/listwatch/kube"
)

// Record is an object and its metadata in a store.
type Record[T kube.Object] struct {
	Key      kube.Key
	Object   T
	UID      string
	Revision kube.Revision
}

// Snapshot is a file with the state at one moment: as many objects as Header says, then
// those whose deletion was not acknowledged.
type Snapshot[T kube.Object] struct {
	Header  Header
	Records []Record[T]
}

// Resume is where a watch resumes after a snapshot: pass both to watch.Options.
type Resume struct {
	// Revision of the snapshot. It is empty if the latest state of some object could
	// not be decoded when the snapshot was saved: a watch without a revision lists,
	// which reads the object again and yields the differences.
	Revision kube.Revision

	// Seen is the latest revision in the snapshot. A server that is behind it was
	// restored to an earlier state, and may assign revisions of the snapshot's objects
	// again.
	Seen kube.Revision
}

// Loaded is the content of a snapshot besides the objects.
type Loaded[T kube.Object] struct {
	Resume
	Unacked []Record[T] // objects whose deletion was not acknowledged
	Journal int         // number of the first journal file that is not in the snapshot
}

// Read reads a snapshot and calls put with each object; put returns false for a
// duplicate name. Objects for which decode fails with ErrLeftOut are left out.
func Read[T kube.Object](r io.Reader, b Identity, decode func([]byte) (T, error), put func(Record[T]) bool) (l Loaded[T], err error) {
	want, err := NewHeader[T](b)
	if err != nil {
		return l, err
	}
	in := newReader(r)
	got, err := in.header()
	if err != nil {
		return l, err
	}
	if err := got.foreign(want); err != nil {
		return l, err
	}
	seen := kube.Revision(got.Revision)
	leftOut := int64(0)
	for range got.Objects {
		rec, err := loadRecord(in, decode)
		if errors.Is(err, ErrLeftOut) {
			leftOut++
			continue
		}
		if err != nil {
			return l, err
		}
		if !put(rec) {
			return l, damaged("two objects of one name")
		}
		seen = Later(seen, rec.Revision)
	}
	var unacked []Record[T]
	for range got.Unacked {
		rec, err := loadRecord(in, decode)
		if errors.Is(err, ErrLeftOut) {
			continue
		}
		if err != nil {
			return l, err
		}
		unacked = append(unacked, rec)
	}
	if err := in.end(); err != nil {
		return l, err
	}
	l = Loaded[T]{Resume{kube.Revision(got.Revision), seen}, unacked, got.Journal}
	if got.Unread > 0 || leftOut > 0 { // a watch from there would not deliver the missing objects
		l.Revision = ""
	}
	return l, nil
}

// loadRecord reads and decodes the next record.
func loadRecord[T kube.Object](in *reader, decode func([]byte) (T, error)) (Record[T], error) {
	var rec Record[T]
	parts, err := in.record()
	if err != nil {
		return rec, err
	}
	if rec.Object, err = decode(parts[fieldObject]); err != nil {
		return rec, &Error{Kind: ErrDamaged, Reason: "an object that cannot be decoded", Err: err}
	}
	rec.Key = kube.KeyOf(rec.Object)
	if rec.Key.Namespace != string(parts[fieldNamespace]) || rec.Key.Name != string(parts[fieldName]) {
		return rec, damaged("an object under a name that is not its own")
	}
	// Strings of the object are not kept twice.
	known, _ := uid.Of(&rec.Object)
	rec.UID = same(parts[fieldUID], known)
	rec.Revision = kube.Revision(same(parts[fieldRevision], rec.Object.GetResourceVersion()))
	return rec, nil
}

// Later returns the later of two revisions.
func Later(a, b kube.Revision) kube.Revision {
	if a == "" || b.Newer(a) {
		return b
	}
	return a
}

// same returns b as a string; it returns s if that is equal.
func same(b []byte, s string) string {
	if string(b) == s {
		return s
	}
	return string(b)
}
