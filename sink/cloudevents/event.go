package cloudevents

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// Event is a record as a CloudEvent. A GAP is about the objects of its shard: those whose UIDs have
// sink.ShardOf(uid, shards) == shard. What CloudEvents has no attribute for is in extension
// attributes; Labels is JSON in a string, because they cannot be objects.
type Event struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`

	Group      string        `json:"apigroup,omitempty"`
	Resource   string        `json:"resource"`
	APIVersion string        `json:"apiversion,omitempty"`
	Kind       string        `json:"kind,omitempty"`
	Shard      int           `json:"shard,omitempty"`
	Shards     int           `json:"shards,omitempty"` // GAP: of how many, 0 = 1; Record does not have it
	Namespace  string        `json:"namespace,omitempty"`
	Name       string        `json:"name,omitempty"`
	UID        string        `json:"uid,omitempty"`
	Revision   kube.Revision `json:"revision,omitempty"`
	Epoch      int64         `json:"epoch"`
	Phase      sink.Phase    `json:"phase"`
	Synthetic  bool          `json:"synthetic,omitempty"`
	Initial    bool          `json:"initial,omitempty"`
	Trimmed    bool          `json:"trimmed,omitempty"`
	Labels     string        `json:"labels,omitempty"`
	From       kube.Revision `json:"fromrevision,omitempty"`
	To         kube.Revision `json:"torevision,omitempty"`
	Reason     string        `json:"reason,omitempty"`
}

const (
	typePrefix   = "io.listwatch."
	sourcePrefix = "/clusters/"
)

// FromRecord returns the event of a record.
func FromRecord(r sink.Record) Event {
	subject := r.Resource
	for _, part := range []string{r.Namespace, r.Name} {
		if part != "" {
			subject += "/" + part
		}
	}
	e := Event{
		SpecVersion: "1.0", ID: r.ID, Source: sourcePrefix + r.Cluster, Type: typePrefix + strings.ToLower(string(r.Type)), Subject: subject, Time: r.Time, Data: r.Object,
		Group: r.Group, Resource: r.Resource, APIVersion: r.APIVersion, Kind: r.Kind, Shard: r.Shard, Namespace: r.Namespace, Name: r.Name,
		UID: r.UID, Revision: r.Revision, Epoch: r.Epoch, Phase: r.Phase, Synthetic: r.Synthetic, Initial: r.Initial, Trimmed: r.Trimmed,
		From: r.From, To: r.To, Reason: r.Reason,
	}
	if len(r.Object) > 0 {
		e.DataContentType = "application/json"
	}
	if len(r.Labels) > 0 {
		b, err := json.Marshal(r.Labels)
		if err != nil {
			panic(err) // a map of strings always encodes
		}
		e.Labels = string(b)
	}
	return e
}

// Record returns the record that the event is of.
func (e Event) Record() (sink.Record, error) {
	r := sink.Record{
		ID: e.ID, Type: sink.Type(strings.ToUpper(strings.TrimPrefix(e.Type, typePrefix))), Cluster: strings.TrimPrefix(e.Source, sourcePrefix),
		Group: e.Group, Resource: e.Resource, APIVersion: e.APIVersion, Kind: e.Kind, Shard: e.Shard, Namespace: e.Namespace, Name: e.Name,
		UID: e.UID, Revision: e.Revision, Epoch: e.Epoch, Time: e.Time, Phase: e.Phase, Synthetic: e.Synthetic, Initial: e.Initial,
		Object: e.Data, Trimmed: e.Trimmed, From: e.From, To: e.To, Reason: e.Reason,
	}
	if e.Labels != "" {
		if err := json.Unmarshal([]byte(e.Labels), &r.Labels); err != nil {
			return r, fmt.Errorf("event %s: labels: %w", e.ID, err)
		}
	}
	return r, nil
}
