package codec

import (
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// This file reads single members of a Raw without decoding it. It relies on ParseRaw:
// the JSON is valid and has no white space.

// Text returns the string, number or bool at a path of members; it does not look into
// arrays. If a member occurs twice, which no API server sends, the first one counts, as
// for labels and owner references, and unlike Decode. It does not allocate, unless a name
// or the string has escapes:
//
//	node, ok := pod.Text("spec", "nodeName")
func (r Raw) Text(path ...string) (string, bool) {
	v := r.find(path...)
	if v == "" || v[0] == '{' || v[0] == '[' || v == "null" {
		return "", false
	}
	if v[0] == '"' {
		return meaning(v), true
	}
	return v, true
}

// Label returns the value of one label, and whether it exists. It does not allocate.
func (r Raw) Label(name string) (string, bool) {
	v := r.find("metadata", "labels", name)
	if v == "" || v[0] != '"' {
		return "", false
	}
	return meaning(v), true
}

// GetLabels returns a copy of the labels, nil if there are none. For a single label,
// Label is faster.
func (r Raw) GetLabels() map[string]string {
	s := r.find("metadata", "labels")
	if s == "" || s[0] != '{' {
		return nil
	}
	var labels map[string]string
	for i := 1; byteAt(s, i) == '"'; {
		colon := stringEnd(s, i)
		end := valueEnd(s, colon+1)
		if key := meaning(s[i:colon]); byteAt(s, colon+1) == '"' {
			if labels == nil {
				labels = map[string]string{}
			}
			if _, twice := labels[key]; !twice {
				labels[key] = meaning(s[colon+1 : end])
			}
		}
		if i = end; byteAt(s, i) == ',' {
			i++
		}
	}
	return labels
}

// GetOwnerReferences returns a copy of the owner references, nil if there are none or
// they are invalid.
func (r Raw) GetOwnerReferences() []kube.OwnerReference {
	v := r.find("metadata", "ownerReferences")
	if v == "" || v[0] != '[' {
		return nil
	}
	refs, err := Decode[[]kube.OwnerReference]([]byte(v))
	if err != nil {
		return nil
	}
	return refs
}

// find returns the JSON of the value at a path of members, "" if it does not exist.
func (r Raw) find(path ...string) string {
	s, i := r.JSON(), 0
	if s == "" {
		return ""
	}
	for _, name := range path {
		if i = member(s, i, name); i < 0 {
			return ""
		}
	}
	return s[min(i, len(s)):valueEnd(s, i)]
}

// member returns the index of the value of a member of the object at i, -1 if there is
// no such member or no object.
func member(s string, i int, name string) int {
	if byteAt(s, i) != '{' {
		return -1
	}
	for i++; byteAt(s, i) == '"'; {
		end := stringEnd(s, i)
		key := s[i:end]
		i = end + 1 // after the colon
		if meaning(key) == name {
			return i
		}
		if i = valueEnd(s, i); byteAt(s, i) == ',' {
			i++
		}
	}
	return -1
}

// byteAt returns the byte at i, 0 behind the end: UnmarshalBinary does not check that a
// Raw is JSON.
func byteAt(s string, i int) byte {
	if i >= len(s) {
		return 0
	}
	return s[i]
}

// stringEnd returns the index after the string at i, the length of s if it has no end.
func stringEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(s)
}

// valueEnd returns the index after the value at i.
func valueEnd(s string, i int) int {
	depth := 0
	if i > len(s) {
		return len(s)
	}
	for i < len(s) {
		switch s[i] {
		case '"':
			i = stringEnd(s, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i // after a number or literal
			}
			depth--
			i++
		case ',':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// meaning returns the decoded string of a string in quotes: a part of it if it has no
// escapes.
func meaning(s string) string {
	if len(s) < 2 {
		return ""
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return string(unescape(nil, []byte(s)))
}
