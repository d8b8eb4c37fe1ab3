package diff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Change is a value that differs. Old or New is nil where there was none.
type Change struct {
	Path string  `json:"path"`
	Old  *string `json:"old,omitempty"`
	New  *string `json:"new,omitempty"`
}

const (
	// maxValue is how many bytes of a value are shown.
	maxValue = 4 << 10

	// maxBytes is how many bytes the paths and values of a comparison have.
	maxBytes = 1 << 20

	// maxDepth is how deep values are compared; deeper ones are as a whole.
	maxDepth = 64
)

// Parse decodes the JSON of an object. Numbers keep their digits.
func Parse(text string) (map[string]any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	err := dec.Decode(&m)
	return m, err
}

// Objects returns at most limit differences between two objects, in the order of their
// paths, and how many there are more. Revisions differ always and are left out. More is
// a lower bound where differences have more than a megabyte.
func Objects(a, b map[string]any, limit int) (changes []Change, more int) {
	c := &comparison{limit: limit}
	c.compare("", a, b, 0)
	return c.changes, c.more
}

type comparison struct {
	limit   int
	bytes   int
	changes []Change
	more    int
}

func (c *comparison) add(path string, a, b any, hadA, hasB bool) {
	if len(c.changes) >= c.limit || c.bytes > maxBytes {
		c.more++
		return
	}
	d := Change{Path: clip(path)}
	if hadA {
		d.Old = text(a)
		c.bytes += len(*d.Old)
	}
	if hasB {
		d.New = text(b)
		c.bytes += len(*d.New)
	}
	c.bytes += len(d.Path)
	c.changes = append(c.changes, d)
}

func (c *comparison) compare(path string, a, b any, depth int) {
	if c.bytes > maxBytes {
		c.more = max(c.more, 1)
		return
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && depth < maxDepth {
			c.maps(path, x, y, depth)
			return
		}
	case []any:
		if y, ok := b.([]any); ok && depth < maxDepth {
			c.lists(path, x, y, depth)
			return
		}
	default:
		if !composite(b) {
			if a != b {
				c.add(path, a, b, true, true)
			}
			return
		}
	}
	if !bytes.Equal(encode(a), encode(b)) {
		c.add(path, a, b, true, true)
	}
}

func composite(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func (c *comparison) maps(path string, a, b map[string]any, depth int) {
	names := slices.AppendSeq(make([]string, 0, len(a)+len(b)), maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	for _, k := range names {
		if path == "metadata" && k == "resourceVersion" {
			continue
		}
		c.pair(join(path, k), a, b, k, depth)
	}
}

func (c *comparison) pair(path string, a, b map[string]any, k string, depth int) {
	x, hadA := a[k]
	y, hasB := b[k]
	if hadA && hasB {
		c.compare(path, x, y, depth+1)
	} else {
		c.add(path, x, y, hadA, hasB)
	}
}

// join appends a member to a path: in brackets where it has characters that would be
// taken for those of a path.
func join(path, member string) string {
	if member == "" || strings.ContainsAny(member, ".[]\" ") {
		return path + "[" + strconv.Quote(member) + "]"
	}
	if path == "" {
		return member
	}
	return path + "." + member
}

// identities are the members that name the elements of a list, the first one that all
// elements of both lists have with values of their own.
var identities = []string{"name", "type", "uid", "ip", "containerPort", "port", "mountPath", "key", "path", "topologyKey"}

func (c *comparison) lists(path string, a, b []any, depth int) {
	for _, member := range identities {
		x, okA := named(a, member)
		y, okB := named(b, member)
		if !okA || !okB {
			continue
		}
		seen := map[string]bool{}
		for _, e := range append(slices.Clone(a), b...) {
			name := identity(e, member)
			if !seen[name] {
				seen[name] = true
				c.pair(path+"["+member+"="+clip(name)+"]", x, y, name, depth)
			}
		}
		return
	}
	for i := range max(len(a), len(b)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(a):
			c.add(at, nil, b[i], false, true)
		case i >= len(b):
			c.add(at, a[i], nil, true, false)
		default:
			c.compare(at, a[i], b[i], depth+1)
		}
	}
}

// named returns the elements of a list by a member, and whether all have one of their own.
func named(list []any, member string) (map[string]any, bool) {
	m := make(map[string]any, len(list))
	for _, e := range list {
		name := identity(e, member)
		if _, twice := m[name]; name == "" || twice {
			return nil, false
		}
		m[name] = e
	}
	return m, true
}

func identity(e any, member string) string {
	m, _ := e.(map[string]any)
	switch v := m[member].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// text is a value as a person reads it: a string as it is, else JSON.
func text(v any) *string {
	s, ok := v.(string)
	if !ok {
		s = string(encode(v))
	}
	s = clip(s)
	return &s
}

func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func clip(s string) string {
	if len(s) <= maxValue {
		return s
	}
	n := maxValue
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
