package load

import (
	"cmp"
	"slices"
	"strconv"
)

// Op is what a write did.
type Op string

// The operations.
const (
	Created Op = "created"
	Updated Op = "updated"
	Deleted Op = "deleted"
)

// done tells from the object as it is now, empty if there is none, whether the
// write with that stamp happened to the object that had that uid before.
func (op Op) done(now object, uid, stamp string) bool {
	if op == Deleted {
		return now.Metadata.UID != uid
	}
	return now.Metadata.Annotations[stampKey] == stamp
}

// Write is one write that happened.
type Write struct {
	Op              Op
	Resource        string // "configmaps", "pods", "foos.example.com"
	Namespace, Name string
	UID             string
	// RV is the resource version that the write made. For Deleted it is ""
	// where the server did not tell (it tells for pods); it is then above
	// After. A pod's delete makes one more version just before, MODIFIED with
	// a deletionTimestamp, which is not recorded.
	RV string
	// After is the object's version before the write; "" for Created.
	After string
}

// Ref names an object.
type Ref struct{ Resource, Namespace, Name string }

// Version is one state of one object.
type Version struct{ UID, RV string }

// Record is everything that a Run wrote.
type Record struct {
	// Writes is in the order of the versions they made; a delete without one
	// stands where its After would, behind it.
	Writes []Write
	// Final holds the objects that exist after the run.
	Final map[Ref]Version
}

func newRecord(logs [][]Write) *Record {
	r := &Record{Final: make(map[Ref]Version)}
	for _, log := range logs {
		for _, w := range log {
			ref := Ref{w.Resource, w.Namespace, w.Name}
			if w.Op == Deleted {
				delete(r.Final, ref)
			} else {
				r.Final[ref] = Version{w.UID, w.RV}
			}
			r.Writes = append(r.Writes, w)
		}
	}
	slices.SortStableFunc(r.Writes, func(a, b Write) int { return cmp.Compare(a.order(), b.order()) })
	return r
}

func (w Write) order() uint64 {
	rv := w.RV
	if rv == "" {
		rv = w.After
	}
	n, _ := strconv.ParseUint(rv, 10, 64) // a version that is no number sorts first
	return n
}

// FinalOf returns the objects of one resource that exist after the run.
func (r *Record) FinalOf(resource string) map[Ref]Version {
	final := make(map[Ref]Version)
	for ref, v := range r.Final {
		if ref.Resource == resource {
			final[ref] = v
		}
	}
	return final
}

// Event is what a watcher reported: an ADDED or MODIFIED (Created, Updated) at
// a version, or a DELETED.
type Event struct {
	Op      Op
	Version Version
}

// Missing returns the writes of one resource that no event shows, in order: a create or
// update is shown by an event that is no delete with its UID and RV, a delete by a delete
// with its UID, and its RV where that is known. It is empty for a watcher that began before
// the run and never had to relist. A relist may skip versions, and a watcher that did one
// must only agree with Final.
func (r *Record) Missing(resource string, events []Event) []Write {
	states := make(map[Version]bool)
	deleted := make(map[string]string) // UID to RV
	for _, e := range events {
		if e.Op == Deleted {
			deleted[e.Version.UID] = e.Version.RV
		} else {
			states[e.Version] = true
		}
	}
	shown := func(w Write) bool {
		if w.Op != Deleted {
			return states[Version{w.UID, w.RV}]
		}
		rv, ok := deleted[w.UID]
		return ok && (w.RV == "" || w.RV == rv)
	}
	var missing []Write
	for _, w := range r.Writes {
		if w.Resource == resource && !shown(w) {
			missing = append(missing, w)
		}
	}
	return missing
}
