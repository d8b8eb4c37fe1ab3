package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Encode returns v as JSON, with sorted members, escaped as by kube-apiserver. v has
// only types of Decode.
func Encode(v any) ([]byte, error) {
	return Append(make([]byte, 0, 512), v)
}

// Append appends v to b as Encode returns it.
func Append(b []byte, v any) ([]byte, error) {
	e := encoder{b: b}
	if e.value(v); e.err != nil {
		return nil, fmt.Errorf("encode an object: %w", e.err)
	}
	return e.b, nil
}

// encoder writes the same as json.Marshal, faster.
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) value(v any) {
	switch v := v.(type) {
	case nil:
		e.b = append(e.b, "null"...)
	case bool:
		e.b = strconv.AppendBool(e.b, v)
	case string:
		e.string("", v)
	case int64:
		e.b = strconv.AppendInt(e.b, v, 10)
	case []any:
		if v == nil {
			e.b = append(e.b, "null"...)
			return
		}
		e.b = append(e.b, '[')
		for i, element := range v {
			if i > 0 {
				e.b = append(e.b, ',')
			}
			e.value(element)
		}
		e.b = append(e.b, ']')
	case map[string]any:
		e.object(v)
	default:
		e.standard(v)
	}
}

func (e *encoder) object(v map[string]any) {
	if v == nil {
		e.b = append(e.b, "null"...)
		return
	}
	var few [16]string
	names := few[:0]
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	e.b = append(e.b, '{')
	for i, name := range names {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.string("", name)
		e.b = append(e.b, ':')
		e.value(v[name])
	}
	e.b = append(e.b, '}')
}

// string writes a text that is in two parts, of which the first is plain.
func (e *encoder) string(prefix, s string) {
	start, from := len(e.b), 0
	e.b = append(append(e.b, '"'), prefix...)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			e.b = append(append(e.b, s[from:i]...), '\\', c)
			from = i + 1
		case c < ' ' || c > '~' || c == '<' || c == '>' || c == '&':
			e.b = e.b[:start]
			e.standard(prefix + s)
			return
		}
	}
	e.b = append(append(e.b, s[from:]...), '"')
}

// standard uses encoding/json for rare values.
func (e *encoder) standard(v any) {
	b, err := json.Marshal(v)
	e.err = cmp.Or(e.err, err)
	e.b = append(e.b, b...)
}
