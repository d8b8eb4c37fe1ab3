package print

import (
	"bytes"
	"encoding/json"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
)

// jsonEncoder prints what kubectl get -o json prints, byte for byte: with events
// a compact line each, as kubectl's --output-watch-events; without them the
// objects indented, or one List of them. Keys are sorted.
type jsonEncoder struct {
	format *Format
	items  int
}

func (e *jsonEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	m, err := e.format.object(r, r.Object)
	if err != nil {
		return b, err
	}
	if e.format.Events {
		line, err := json.Marshal(watchEvent{r.Type, r.Cluster, m})
		return append(append(b, line...), '\n'), err
	}
	if !e.format.List || e.format.Single {
		text, err := indented(m, "")
		return append(append(b, text...), '\n'), err
	}
	text, err := indented(m, "        ")
	if err != nil {
		return b, err
	}
	if e.items++; e.items == 1 {
		b = append(b, "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        "...)
	} else {
		b = append(b, ",\n        "...)
	}
	return append(b, text...), nil
}

// watchEvent is the event as metav1.WatchEvent encodes, with the cluster of several.
type watchEvent struct {
	Type    string         `json:"type"`
	Cluster string         `json:"cluster,omitempty"`
	Object  map[string]any `json:"object"`
}

// object returns one of r's objects. With several clusters it has a member cluster, unless
// it has one of its own; in an event that is printed, or that expressions see, it stands
// beside the object.
func (o *Format) object(r *record.Record, object codec.Raw) (map[string]any, error) {
	m, err := r.Decode(object, o.Redact)
	if _, has := m["cluster"]; err == nil && o.Clusters && !has && !o.WatchEvents && (!o.Events || o.Custom != nil) {
		m["cluster"] = r.Cluster
	}
	return m, err
}

// eventMap is watchEvent as a map.
func eventMap(r *record.Record, object map[string]any) map[string]any {
	m := map[string]any{"type": r.Type, "object": object}
	if r.Cluster != "" {
		m["cluster"] = r.Cluster
	}
	return m
}

func indented(m map[string]any, prefix string) ([]byte, error) {
	compact, err := json.Marshal(m)
	if err != nil || deep(m) {
		return compact, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, compact, prefix, "    ")
	return out.Bytes(), err
}

func (e *jsonEncoder) Flush(b []byte) []byte { return b }

func (e *jsonEncoder) End(b []byte) ([]byte, error) {
	if !e.format.List || e.format.Single || e.format.Events {
		return b, nil
	}
	if e.items == 0 {
		b = append(b, "{\n    \"apiVersion\": \"v1\",\n    \"items\": []"...)
	} else {
		b = append(b, "\n    ]"...)
	}
	return append(b, ",\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n"...), nil
}
