package watch

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Type is what an event says happened.
type Type string

// ADDED, MODIFIED, DELETED and BOOKMARK are the server's words, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
// RESTART and SYNCED are ours.
const (
	Added    Type = "ADDED"    // exists; between RESTART and SYNCED it may have existed before
	Modified Type = "MODIFIED" // changed
	Deleted  Type = "DELETED"  // gone; Object is its last state
	Bookmark Type = "BOOKMARK" // nothing changed up to Revision
	Restart  Type = "RESTART"  // the whole collection follows, as ADDED; forget an unfinished one
	Synced   Type = "SYNCED"   // the whole collection has been told, as of Revision
)

// outside is the type of an event of an object that is not in Options.Shard. It has a
// revision only, and nobody outside of this package sees it.
const outside Type = "OUTSIDE"

// Event is one change, or a mark between changes.
type Event[T kube.Object] struct {
	Type Type

	// Key and UID say which object: namesakes of different times have the same
	// Key and different UIDs. Zero in BOOKMARK, RESTART and SYNCED.
	Key kube.Key
	UID string

	// Revision is that of the object, or, in BOOKMARK and SYNCED, of the
	// collection. Between RESTART and SYNCED objects come in no order of
	// revision: Watcher.Revision says where it is safe to resume.
	Revision kube.Revision

	// Object is its state, in DELETED its final one. It is shared with nobody.
	Object T

	// Cause, in RESTART only, says why: nil at the first start, else what
	// made resuming impossible, such as kube.ErrGone.
	Cause error
}

// Interruption is the end of one request. The watcher goes on after it: it is
// yielded as an error so that somebody knows.
type Interruption struct {
	Op       Op            // what was under way
	What     string        // the collection
	From     kube.Revision // where the request began
	Revision kube.Revision // how far it came
	Err      error         // nil = the server closed an answer in good order
	Lived    time.Duration // of the answer
	Events   int           // delivered by it
	Attempt  int           // failures in a row, this one included
	Next     Op            // what will be done about it
	Wait     time.Duration // before Next
}

// Op is a kind of request.
type Op string

// The requests that a watcher makes.
const (
	OpList   Op = "list"   // one page of a LIST
	OpStream Op = "stream" // WATCH with sendInitialEvents (KEP-3157)
	OpWatch  Op = "watch"  // WATCH from a revision
	OpProbe  Op = "probe"  // LIST of one object, for the server's revision
	OpNone   Op = "none"   // give up
)

func (i *Interruption) Error() string {
	s := fmt.Sprintf("%s %s", i.Op, i.What)
	if i.From != "" {
		s += " from " + string(i.From)
	}
	if i.Err == nil {
		s += ": closed by the server"
	} else {
		s += ": " + i.Err.Error()
	}
	if i.Next == OpNone {
		return s
	}
	return fmt.Sprintf("%s; %s in %v", s, i.Next, i.Wait.Round(time.Millisecond))
}

// Unwrap returns Err.
func (i *Interruption) Unwrap() error { return i.Err }
