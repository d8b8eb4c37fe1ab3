package print

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// cloudEvent is what --webhook posts: a record in the structured form of CloudEvents 1.0.
// The attributes have the names of those that listwatch-sink posts.
type cloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype,omitempty"`
	Group           string          `json:"apigroup,omitempty"`
	Resource        string          `json:"resource"`
	APIVersion      string          `json:"apiversion,omitempty"`
	Kind            string          `json:"kind,omitempty"`
	Namespace       string          `json:"namespace,omitempty"`
	Name            string          `json:"name,omitempty"`
	UID             string          `json:"uid,omitempty"`
	Revision        string          `json:"revision,omitempty"`
	Initial         bool            `json:"initial,omitempty"`
	Synthetic       bool            `json:"synthetic,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`
}

// CloudEvent returns r as a CloudEvent in JSON. cluster names the cluster where r does not.
func CloudEvent(r *record.Record, cluster string, redact bool) ([]byte, error) {
	if r.Cluster != "" {
		cluster = r.Cluster
	}
	e := cloudEvent{
		SpecVersion: "1.0", ID: eventID(r), Source: "/clusters/" + url.PathEscape(cluster), Type: "io.listwatch." + strings.ToLower(r.Type),
		Subject: r.Resource.Plural, Time: r.Time.UTC().Format(time.RFC3339Nano),
		Group: r.Resource.Group, Resource: r.Resource.Plural, APIVersion: r.Resource.APIVersion(), Kind: r.Resource.Kind,
		Namespace: r.ID.Namespace, Name: r.ID.Name, UID: r.ID.UID, Revision: r.ID.ResourceVersion, Initial: r.Initial, Synthetic: r.Synthetic != "",
	}
	for _, part := range []string{r.ID.Namespace, r.ID.Name} {
		if part != "" {
			e.Subject += "/" + part
		}
	}
	var err error
	switch {
	case r.IsObject():
		e.Data, err = record.RawObject(r, redact)
	case r.Detail != nil:
		e.Data, err = codec.Encode(r.Detail)
	}
	if err != nil {
		return nil, err
	}
	if e.Data != nil {
		e.DataContentType = "application/json"
	}
	return codec.Encode(e)
}

// eventID returns the id of r: the same for the same state of an object, and for its
// deletion, however often and by whichever run it is posted, so that a receiver can drop
// what it has. A hash, as the ids of listwatch-sink are, but of no epoch.
func eventID(r *record.Record) string {
	parts := []string{"state", r.ID.UID, r.ID.ResourceVersion}
	switch {
	case !r.IsObject():
		parts = []string{r.Type, r.Resource.GroupResource(), r.Time.UTC().Format(time.RFC3339Nano)}
	case r.Unmatched:
		parts[0] = "left"
	case r.Type == string(watch.Deleted):
		parts = []string{"deleted", r.ID.UID}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}
