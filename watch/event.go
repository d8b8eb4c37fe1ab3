package watch

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Type is the type of an event.
type Type string

// ADDED, MODIFIED, DELETED and BOOKMARK come from the server, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
// RESTART and SYNCED come from this package.
const (
	Added    Type = "ADDED"    // is new; between RESTART and SYNCED: exists
	Modified Type = "MODIFIED" // changed
	Deleted  Type = "DELETED"  // deleted; Object is its last state
	Bookmark Type = "BOOKMARK" // no further change up to Revision
	Restart  Type = "RESTART"  // the whole collection follows, as ADDED; discard an incomplete earlier one
	Synced   Type = "SYNCED"   // the whole collection has been delivered, as of Revision
)

// outside is the type of an event for an object that is not in Options.Shard. It has
// only a revision, and is not delivered.
const outside Type = "OUTSIDE"

// Event is one change, or a mark between changes.
type Event[T kube.Object] struct {
	Type Type

	// Key and UID identify the object: objects that had the same name at different
	// times have the same Key and different UIDs. Both are zero for BOOKMARK, RESTART
	// and SYNCED.
	Key kube.Key
	UID string

	// Revision of the object, or, for BOOKMARK and SYNCED, of the collection. Between
	// RESTART and SYNCED objects are not in order of their revisions, so it is not safe to
	// resume from one of these: use Watcher.Revision.
	Revision kube.Revision

	// Object is the state of the object, for DELETED its final one. The receiver owns
	// it.
	Object T

	// Cause, for RESTART only, is why the watch could not be resumed, such as
	// kube.ErrGone; nil at the first start.
	Cause error
}

// Interruption reports the end of one request. The watcher continues after it, unless
// Next is OpNone.
type Interruption struct {
	Op       Op            // kind of the request
	What     string        // the collection
	From     kube.Revision // revision at which the request began
	Revision kube.Revision // last revision that it delivered
	Err      error         // nil = the server ended the response normally
	Lived    time.Duration // duration of the response
	Events   int           // events delivered
	Attempt  int           // consecutive failures, this one included
	Next     Op            // kind of the next request
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
