package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// Member is a member of a JSON object.
type Member struct {
	Name    string
	Value   json.RawMessage
	decoded any // value, as in package schema; nil = not decoded yet
}

// Members splits a JSON object, keeping the order; of a repeated name the last
// value counts. The values are parts of b.
func Members(b []byte) ([]Member, error) {
	if !schema.Valid(b) {
		var v json.RawMessage
		return nil, json.Unmarshal(b, &v) // it fails, and says where
	}
	at := SkipSpace(b, 0)
	if b[at] != '{' {
		return nil, errors.New("want a JSON object")
	}
	ms := make([]Member, 0, 8)
	for at = SkipSpace(b, at+1); b[at] != '}'; at = SkipSpace(b, at) {
		if b[at] == ',' {
			at = SkipSpace(b, at+1)
		}
		end := ValueEnd(b, at)
		m := Member{Name: string(b[at+1 : end-1])}
		if strings.IndexByte(m.Name, '\\') >= 0 || !utf8.ValidString(m.Name) {
			if err := json.Unmarshal(b[at:end], &m.Name); err != nil {
				return nil, err
			}
		}
		at = SkipSpace(b, SkipSpace(b, end)+1) // behind the colon
		end = ValueEnd(b, at)
		m.Value = b[at:end:end]
		at = end
		if i := slices.IndexFunc(ms, func(o Member) bool { return o.Name == m.Name }); i >= 0 {
			ms[i] = m
			continue
		}
		ms = append(ms, m)
	}
	return ms, nil
}

// SkipSpace returns the end of the white space from at on.
func SkipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// ValueEnd returns the end of the value at at. b is valid JSON.
func ValueEnd(b []byte, at int) int {
	for depth := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			for at++; b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // behind a number or a word
			}
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}

// canonical removes white space from valid JSON and escapes as kube-apiserver does. It
// may return b.
func canonical(b []byte) []byte {
	if isCanonical(b) {
		return b
	}
	var compact, escaped bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		panic(err) // the decoder has checked it
	}
	json.HTMLEscape(&escaped, compact.Bytes())
	return escaped.Bytes()
}

// isCanonical reports whether valid JSON has no white space and nothing to escape; it
// may be wrong for characters of three bytes.
func isCanonical(b []byte) bool {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case '<', '>', '&', 0xe2:
			return false
		case ' ', '\n', '\t', '\r':
			if !quoted {
				return false
			}
		}
	}
	return true
}

// Marshal encodes values for which that cannot fail.
func Marshal(v any) []byte {
	var b []byte
	var err error
	switch v.(type) {
	case map[string]any, []any, string:
		b, err = schema.Encode(v)
	default:
		b, err = json.Marshal(v)
	}
	if err != nil {
		panic(fmt.Sprintf("apitest: encode %T: %v", v, err))
	}
	return b
}

// sortedJSON returns JSON of ours with the members of objects sorted.
func sortedJSON(b []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic(err) // we encoded it
	}
	return Marshal(v)
}

// sameJSON compares two values, whatever the order of members.
func sameJSON(a, b []byte) bool {
	switch {
	case bytes.Equal(a, b):
		return true
	case len(a) != len(b) && bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0:
		return false // both are canonical: only an escape may be longer
	case bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 && byteSum(a) != byteSum(b):
		return false // not the same letters in another order
	}
	return bytes.Equal(sortedJSON(a), sortedJSON(b))
}

func byteSum(b []byte) (sum int) {
	for _, c := range b {
		sum += int(c)
	}
	return sum
}

// LookupJSON returns a member of a JSON object, nil if there is none.
func LookupJSON(raw json.RawMessage, name string) json.RawMessage {
	ms, err := Members(raw)
	if err != nil {
		return nil
	}
	for _, m := range ms {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// AppendString appends s as json.Marshal writes it.
func AppendString(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '<':
			b = append(b, `\u003c`...)
		case c == '>':
			b = append(b, `\u003e`...)
		case c == '&':
			b = append(b, `\u0026`...)
		case c < ' ' || c > '~' || c == '"' || c == '\\':
			return append(b[:start], Marshal(s)...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// SortedKeys returns the keys of m in order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
