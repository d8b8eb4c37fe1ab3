package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// positionFormat is the version of the JSON form of a position. It grows when a release
// that knows the form before would misread it; such a release refuses the position.
const positionFormat = 1

// position is the JSON form of a sink.Position. New members may come; members do not
// vanish or change their meaning within one format.
type position struct {
	Format     int             `json:"format,omitempty"` // 0 is 1
	Cluster    string          `json:"cluster"`
	Group      string          `json:"group"`
	Resource   string          `json:"resource"`
	Version    string          `json:"version"`
	Shard      int             `json:"shard"`
	Shards     int             `json:"shards"`
	Selection  json.RawMessage `json:"selection"`
	Revision   kube.Revision   `json:"revision"`
	Generation int64           `json:"generation"`
	Sequence   int64           `json:"sequence"`
	Epoch      int64           `json:"epoch"`
	Phase      sink.Phase      `json:"phase"`
	Cause      string          `json:"cause,omitempty"`
	Time       time.Time       `json:"time"`
	Control    sink.Control    `json:"control,omitempty"`
}

// EncodePosition returns p as JSON.
func EncodePosition(p sink.Position) []byte {
	s := p.Scope
	b, err := json.Marshal(position{
		positionFormat, s.Cluster, s.Resource.Group, s.Resource.Plural, s.Resource.Version, s.Shard, s.Count(), json.RawMessage(s.Selection()),
		p.Revision, p.Generation, p.Sequence, p.Epoch, p.Phase, p.Cause, p.Time, p.Control,
	})
	if err != nil {
		panic(err) // the selection is JSON, the others always encode
	}
	return b
}

// DecodePosition reads what EncodePosition wrote. Of the resource it sets what identifies
// it, and the version. The format of a later release is a sink.ErrRefused.
func DecodePosition(b []byte) (sink.Position, error) {
	var header struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(b, &header); err == nil && header.Format > positionFormat {
		return sink.Position{}, fmt.Errorf("a stored position has format %d, and this program knows up to %d: use a later release: %w", header.Format, positionFormat, sink.ErrRefused)
	}
	var w position
	if err := json.Unmarshal(b, &w); err != nil {
		return sink.Position{}, fmt.Errorf("read a stored position: %w", err)
	}
	p := sink.Position{Revision: w.Revision, Generation: w.Generation, Sequence: w.Sequence, Epoch: w.Epoch, Phase: w.Phase, Cause: w.Cause, Time: w.Time, Control: w.Control}
	p.Scope = sink.Scope{Cluster: w.Cluster, Resource: kube.Resource{Group: w.Group, Version: w.Version, Plural: w.Resource}, Shard: w.Shard, Shards: w.Shards}
	return p, p.Scope.Select(string(w.Selection))
}
