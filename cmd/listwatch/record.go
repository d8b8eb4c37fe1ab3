package main

import (
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Types of records besides those of package watch.
const (
	relistedType     = "RELISTED"
	disconnectedType = "DISCONNECTED"
	reconnectedType  = "RECONNECTED"
	errorType        = "ERROR"
	quarantinedType  = "QUARANTINED"
)

// record is one thing to print: an object's event, or something about the watch.
type record struct {
	Type     string
	time     time.Time
	resource kube.Resource
	id       codec.Identity

	// Of objects.
	object    codec.Raw // a Table of one row, where rows are printed
	complete  codec.Raw // object with managedFields, where an expression looks at them; else zero
	old       codec.Raw // of MODIFIED: the state before; zero where nobody knows it
	columns   *columns  // of that Table
	initial   bool
	synthetic string // how it was learnt, if not from an event
	last      bool   // a deletion whose final state is not known
	unmatched bool   // a deletion of what exists, and --where no longer selects

	// Of the rest: what the record has to tell, encoded as its members.
	detail any

	// Of a run with a checkpoint.
	stream int           // the number of its target
	mark   mark          // there is nothing but a mark
	at     kube.Revision // of markAt

	// say, if set, is all there is to the record: something for stderr, in
	// its place between what stands before and after on stdout.
	say func()

	taken chan<- struct{} // closed when a large record was taken; nil for others
}

// isObject reports whether r is an object's event.
func (r *record) isObject() bool {
	switch watch.Type(r.Type) {
	case watch.Added, watch.Modified, watch.Deleted:
		return true
	}
	return false
}

// key names r's object.
func (r *record) key() kube.Key { return kube.Key{Namespace: r.id.Namespace, Name: r.id.Name} }

// incarnation is one life of an object of a stream; a namesake is another.
type incarnation struct {
	stream int
	key    kube.Key
	uid    string
}

func (r *record) incarnation() incarnation { return incarnation{r.stream, r.key(), r.id.UID} }

// What the other types tell, as members of an ndjson line.
type (
	syncedDetail struct {
		Count int `json:"count"`
	}
	// Numbers are null where nobody can know.
	relistedDetail struct {
		Cause     string `json:"cause"`
		Added     *int   `json:"added"`
		Modified  *int   `json:"modified"`
		Deleted   *int   `json:"deleted"`
		Unchanged *int   `json:"unchanged"`
	}
	disconnectedDetail struct {
		Cause string `json:"cause"`
		Lived int64  `json:"lived"` // milliseconds
	}
	reconnectedDetail struct {
		Gap int64 `json:"gap"` // milliseconds
	}
	errorDetail struct {
		Error  string      `json:"error"`
		Status *statusView `json:"status,omitempty"`
	}
	statusView struct {
		Code    int    `json:"code,omitempty"`
		Reason  string `json:"reason,omitempty"`
		Message string `json:"message,omitempty"`
	}
)

// kubectlName is how kubectl writes TYPE/NAME: pod/a, deployment.apps/a.
func kubectlName(r kube.Resource, name string) string {
	return kubectlType(r) + "/" + name
}

// A mark is something between records, for the checkpoint only.
type mark uint8

const (
	noMark      mark = iota
	markAt           // all before is told, up to record.at
	markListing      // what follows comes in no order of revision
	markSync         // the disk may have it
)
