package record

import (
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Types of records besides those of package watch.
const (
	RelistedType     = "RELISTED"
	DisconnectedType = "DISCONNECTED"
	ReconnectedType  = "RECONNECTED"
	ErrorType        = "ERROR"
	QuarantinedType  = "QUARANTINED"
)

// Record is what is printed at once: an event of an object, or of the watch.
type Record struct {
	Type     string
	Time     time.Time
	Resource kube.Resource
	ID       codec.Identity
	Cluster  string // a context; empty = there is one cluster

	// Of objects.
	Object    codec.Raw      // a Table of one row, where rows are printed
	Complete  codec.Raw      // object with managedFields, where an expression looks at them; else zero
	Old       codec.Raw      // of MODIFIED: the state before; zero where nobody knows it
	Columns   *table.Columns // of that Table
	Initial   bool
	Synthetic string // how it was learnt, if not from an event
	Last      bool   // a deletion whose final state is not known
	Unmatched bool   // a deletion of what exists, and --where no longer selects

	// Of the other types: the members of the record, encoded.
	Detail any

	// Of a run with a checkpoint.
	Stream int           // the number of its target
	Mark   Mark          // there is nothing but a mark
	At     kube.Revision // of MarkAt; of MarkLost which one it is

	// say, if set, is all there is to the record: something for stderr, in
	// its place between what stands before and after on stdout.
	Say func()

	taken chan<- struct{} // closed when a large record was taken; nil for others
}

// IsObject reports whether r is an object's event.
func (r *Record) IsObject() bool {
	switch watch.Type(r.Type) {
	case watch.Added, watch.Modified, watch.Deleted:
		return true
	}
	return false
}

// Key names r's object.
func (r *Record) Key() kube.Key { return kube.Key{Namespace: r.ID.Namespace, Name: r.ID.Name} }

// Incarnation is one life of an object of a stream; a namesake is another.
type Incarnation struct {
	Stream int
	key    kube.Key
	uid    string
}

func (r *Record) Incarnation() Incarnation { return Incarnation{r.Stream, r.Key(), r.ID.UID} }

// The other types, as members of a line of ndjson.
type (
	SyncedDetail struct {
		Count int `json:"count"`
	}
	// Numbers are null where nobody can know.
	RelistedDetail struct {
		Cause     string `json:"cause"`
		Added     *int   `json:"added"`
		Modified  *int   `json:"modified"`
		Deleted   *int   `json:"deleted"`
		Unchanged *int   `json:"unchanged"`
	}
	DisconnectedDetail struct {
		Cause string `json:"cause"`
		Lived int64  `json:"lived"` // milliseconds
	}
	ReconnectedDetail struct {
		Gap int64 `json:"gap"` // milliseconds
	}
	ErrorDetail struct {
		Error  string      `json:"error"`
		Status *StatusView `json:"status,omitempty"`
	}
	StatusView struct {
		Code    int    `json:"code,omitempty"`
		Reason  string `json:"reason,omitempty"`
		Message string `json:"message,omitempty"`
	}
)

// KubectlName is how kubectl writes TYPE/NAME: pod/a, deployment.apps/a.
func KubectlName(r kube.Resource, name string) string {
	return target.KubectlType(r) + "/" + name
}

// A mark is something between records, for the checkpoint only.
type Mark uint8

const (
	NoMark      Mark = iota
	MarkAt           // all before it is printed, up to record.at
	MarkListing      // what follows comes in no order of revision
	MarkSync         // the disk may have it
	MarkLost         // no revision before it counts: the server was restored
)
