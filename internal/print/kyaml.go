package print

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"sigs.k8s.io/yaml/kyaml"

	"github.com/listwatch/listwatch/internal/record"
)

// kyamlEncoder prints what kubectl get -o kyaml prints, byte for byte: documents with
// braces and quoted strings; with events they have a type and an object, as those of
// kubectl's --output-watch-events; a list is one document.
type kyamlEncoder struct {
	format *Format
	items  int
}

func (e *kyamlEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	m, err := e.format.object(r, r.Object)
	if err != nil {
		return b, err
	}
	var v any = m
	if e.format.Events {
		v = watchEvent{r.Type, r.Cluster, m}
	}
	text, err := kyamlOf(v, deep(m) || crowded(m))
	if err != nil {
		return b, err
	}
	if e.format.List && !e.format.Single && !e.format.Events {
		if e.items++; e.items == 1 {
			b = append(b, "---\n{\n  apiVersion: \"v1\",\n  items: ["...)
		} else {
			b = append(b, ", "...)
		}
		return append(b, bytes.ReplaceAll(text, []byte("\n"), []byte("\n  "))...), nil
	}
	b = append(b, "---\n"...)
	return append(append(b, text...), '\n'), nil
}

func (e *kyamlEncoder) Flush(b []byte) []byte { return b }

func (e *kyamlEncoder) End(b []byte) ([]byte, error) {
	if !e.format.List || e.format.Single || e.format.Events {
		return b, nil
	}
	if e.items == 0 {
		b = append(b, "---\n{\n  apiVersion: \"v1\",\n  items: ["...)
	}
	return append(b, "],\n  kind: \"List\",\n  metadata: {\n    resourceVersion: \"\",\n  },\n}\n"...), nil
}

// kyamlOf returns v as KYAML without the line ---, and as JSON, which is YAML too, with
// oneLine, or where the encoder's reader refuses a name of a member of more than 1 KB.
func kyamlOf(v any, oneLine bool) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if text = escaped(text); oneLine {
		return text, nil
	}
	encoder := kyaml.Encoder{}
	var out bytes.Buffer
	if err := encoder.FromYAML(bytes.NewReader(text), &out); err != nil {
		return text, nil
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(out.Bytes(), []byte("---\n")), []byte("\n")), nil
}

// escaped returns the JSON text with escapes for the characters that the encoder's reader
// of YAML refuses, or takes for the end of a line. kubectl -o kyaml fails for objects that
// have one of the former.
func escaped(text []byte) []byte {
	if bytes.IndexFunc(text, refused) < 0 {
		return text
	}
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if !refused(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	return out
}

func refused(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff
}
