package sink

import (
	"encoding/json"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Type is the type of a record.
type Type string

// Types of records.
const (
	Added       Type = "ADDED"       // the object exists, and the table did not hold it
	Modified    Type = "MODIFIED"    // the object changed, and the table held it
	Deleted     Type = "DELETED"     // the object was deleted
	Left        Type = "LEFT"        // the object exists but is no longer selected
	Gap         Type = "GAP"         // changes after From and up to To may be missing in the history
	Quarantined Type = "QUARANTINED" // the state of the object could not be read or stored; Reason says why
)

// Phase is whether the table is complete.
type Phase string

// Phases of a position.
const (
	Loading Phase = "LOADING" // a list is being written: the table holds old rows and new ones
	Live    Phase = "LIVE"    // the table is the collection as of the position's revision
)

// RecordVersion is the version of the JSON form of a Record. Members may be added without a
// new version; they are not removed and do not change their meaning.
const RecordVersion = 1

// Record is one entry of the history. Sinks without columns write its JSON form.
//
// The members map to CloudEvents 1.0: id is ID, type "io.listwatch." and Type in lower
// case, source "/clusters/" and Cluster, subject Resource, Namespace and Name, time
// Time, data Object.
type Record struct {
	// ID depends on the epoch and the state of the object, no matter whether an event or a list
	// showed this state; see RecordID, and DeletionID for DELETED. Only the ID of a LEFT and, with
	// selectors, of a DELETED depends on the event or list too. No two records of one history have
	// the same ID.
	ID   string `json:"id"`
	Type Type   `json:"type"`

	Cluster    string `json:"cluster"`
	Group      string `json:"group"` // "" is the core group
	Resource   string `json:"resource"`
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Shard      int    `json:"shard,omitempty"`

	Namespace string        `json:"namespace,omitempty"`
	Name      string        `json:"name,omitempty"` // empty in GAP
	UID       string        `json:"uid,omitempty"`
	Revision  kube.Revision `json:"revision,omitempty"` // empty in GAP, and in DELETED and LEFT if Synthetic
	Epoch     int64         `json:"epoch"`

	Time  time.Time `json:"time"` // when the Runner received it, in UTC
	Phase Phase     `json:"phase"`

	// Synthetic is set if the record is not from an event, but from a list, Drop or Reshard.
	// Initial is set if it is from the first list of the collection.
	Synthetic bool `json:"synthetic,omitempty"`
	Initial   bool `json:"initial,omitempty"`

	// Object is the state, after redaction and projection. In DELETED and LEFT it is the last
	// state, and is missing if the record is Synthetic, if Options.Where does not select that
	// state, or if the state could not be read or stored. Labels are its labels.
	Object json.RawMessage   `json:"object,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`

	// Trimmed is set if Object was larger than Options.MaxObject: it then has only
	// apiVersion, kind and metadata without annotations, or is missing.
	Trimmed bool `json:"trimmed,omitempty"`

	From   kube.Revision `json:"from,omitempty"`   // GAP: the history is complete up to this revision
	To     kube.Revision `json:"to,omitempty"`     // GAP: the history continues with the state at this revision
	Reason string        `json:"reason,omitempty"` // GAP, QUARANTINED: why
}

// Key returns the key of the object.
func (r *Record) Key() kube.Key { return kube.Key{Namespace: r.Namespace, Name: r.Name} }

// Size returns the approximate size of the record in bytes.
func (r *Record) Size() int {
	n := 256 + len(r.Object) + len(r.Namespace) + 2*len(r.Name) + len(r.UID) + len(r.Reason)
	for k, v := range r.Labels {
		n += len(k) + len(v)
	}
	return n
}

// Row is an object in the table of a sink.
type Row struct {
	Group, Resource string
	Namespace, Name string
	UID             string
	Revision        kube.Revision
	Epoch           int64
	APIVersion      string
	Labels          map[string]string
	Object          json.RawMessage // nil in ModeHistory, and if Quarantined is set
	Trimmed         bool
	Quarantined     string // why the object could not be read or stored; empty = it could
}

// RowOf returns the row of the table after r, which has type ADDED, MODIFIED or
// QUARANTINED.
func RowOf(r *Record) Row {
	row := Row{
		Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		Revision: r.Revision, Epoch: r.Epoch, APIVersion: r.APIVersion, Labels: r.Labels, Object: r.Object, Trimmed: r.Trimmed,
	}
	if r.Type == Quarantined {
		row.Object, row.Quarantined = nil, r.Reason
	}
	return row
}
