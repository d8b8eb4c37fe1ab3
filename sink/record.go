package sink

import (
	"encoding/json"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// Type is what a record says happened.
type Type string

// Types of records.
const (
	Added       Type = "ADDED"       // the object exists, and the table did not hold it
	Modified    Type = "MODIFIED"    // the object changed, and the table held it
	Deleted     Type = "DELETED"     // the object is gone
	Left        Type = "LEFT"        // the object exists but is selected no longer
	Gap         Type = "GAP"         // what happened after From and up to To, and vanished, is unknown
	Quarantined Type = "QUARANTINED" // the state of the object could not be read or stored; Reason says why
)

// Phase says whether the table is complete.
type Phase string

// Phases of a position.
const (
	Loading Phase = "LOADING" // a list is being written: the table holds old rows and new ones
	Live    Phase = "LIVE"    // the table is the collection as of the position's revision
)

// RecordVersion is the version of the JSON form of a Record. New members may come
// without a new version; members do not vanish or change their meaning within one.
const RecordVersion = 1

// Record is one entry of the log. Its JSON form is what sinks without columns write.
//
// The members map to CloudEvents 1.0: id is ID, type "io.listwatch." and Type in lower
// case, source "/clusters/" and Cluster, subject Resource, Namespace and Name, time
// Time, data Object.
type Record struct {
	// ID is the same for the same state for ever, however it was learnt; see RecordID.
	// No two records of one history have the same ID.
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
	Revision  kube.Revision `json:"revision,omitempty"` // empty in GAP, and in DELETED that a list taught
	Epoch     int64         `json:"epoch"`

	Time  time.Time `json:"time"` // when the Runner learnt of it, in UTC
	Phase Phase     `json:"phase"`

	// Synthetic records are the differences that a list taught, not events. Initial
	// ones are of the first list of the collection.
	Synthetic bool `json:"synthetic,omitempty"`
	Initial   bool `json:"initial,omitempty"`

	// Object is the state, after redaction and projection: the last one in DELETED and
	// LEFT, where it is missing if a list taught the record. Labels are its labels.
	Object json.RawMessage   `json:"object,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`

	// Trimmed says that Object was above the limit in bytes, and has only its
	// apiVersion, kind and metadata without annotations, or nothing.
	Trimmed bool `json:"trimmed,omitempty"`

	From   kube.Revision `json:"from,omitempty"`   // GAP: history is complete up to it
	To     kube.Revision `json:"to,omitempty"`     // GAP: the state is known as of it
	Reason string        `json:"reason,omitempty"` // GAP, QUARANTINED: why
}

// Key returns the key of the object.
func (r *Record) Key() kube.Key { return kube.Key{Namespace: r.Namespace, Name: r.Name} }

// Size returns about how many bytes the record has.
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
	Object          json.RawMessage // nil in ModeHistory, and where Quarantined says why
	Trimmed         bool
	Quarantined     string
}

// RowOf returns the row that r, of type ADDED, MODIFIED or QUARANTINED, leaves in the
// table.
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
