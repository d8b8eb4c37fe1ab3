package print

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/internal/record"
)

// yamlEncoder prints documents in kubectl's layout: keys sorted, two spaces,
// lists not indented. Events are documents of type and object, as those of
// kubectl's --output-watch-events; a list is one document.
type yamlEncoder struct {
	format *Format
	items  int
}

func (e *yamlEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	m, err := e.format.object(r, r.Object)
	if err != nil {
		return b, err
	}
	var v any = m
	if e.format.Events {
		v = eventMap(r, m)
	}
	list := e.format.List && !e.format.Single && !e.format.Events
	if list {
		v = []any{m}
	}
	text, err := yamlOf(v)
	if err != nil {
		return b, err
	}
	e.items++
	switch {
	case list && e.items == 1:
		b = append(b, "apiVersion: v1\nitems:\n"...)
	case !list && e.items > 1:
		b = append(b, "---\n"...)
	}
	return append(b, text...), nil
}

func yamlOf(v any) ([]byte, error) {
	oneLine := deep(v) || crowded(v)
	if list, ok := v.([]any); ok && oneLine {
		b, err := json.Marshal(list[0])
		return append(append([]byte("- "), b...), '\n'), err
	}
	if oneLine {
		b, err := json.Marshal(v)
		return append(b, '\n'), err
	}
	b, err := unfolded(v)
	return fold(b), err
}

func unfolded(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	err := enc.Close()
	return out.Bytes(), err
}

func (e *yamlEncoder) Flush(b []byte) []byte { return b }

func (e *yamlEncoder) End(b []byte) ([]byte, error) {
	if !e.format.List || e.format.Single || e.format.Events {
		return b, nil
	}
	if e.items == 0 {
		b = append(b, "apiVersion: v1\nitems: []\n"...)
	}
	return append(b, "kind: List\nmetadata:\n  resourceVersion: \"\"\n"...), nil
}
