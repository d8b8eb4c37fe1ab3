// Package managed reads managedFields: who wrote a state of an object, and which fields are
// whose.
package managed

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
)

// Entry is one of metadata.managedFields, with a hash of its fields.
type Entry struct {
	Manager     string    `json:"manager"`
	Operation   string    `json:"operation"`
	Subresource string    `json:"subresource"`
	Time        time.Time `json:"time"`
	Fields      Hash      `json:"fieldsV1"`
}

// Hash is the hash of a JSON value, in this process.
type Hash uint32

var seed = maphash.MakeSeed()

// UnmarshalJSON keeps nothing of b.
func (h *Hash) UnmarshalJSON(b []byte) error {
	*h = Hash(maphash.Bytes(seed, b))
	return nil
}

// maxName is how many bytes of a manager's name are shown.
const maxName = 128

func (e *Entry) name() string { return printable.Cut(printable.Line(e.Manager), maxName) }

// Marks are what is kept of the entries of a state, to find out who wrote the next one: for
// each entry twelve bytes, of who it is, its time and its fields.
type Marks string

const markSize = 12

// MarksOf returns the marks of entries.
func MarksOf(entries []Entry) Marks {
	b := make([]byte, 0, len(entries)*markSize)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, uint32(maphash.Comparable(seed, [...]string{e.Manager, e.Operation, e.Subresource})))
		b = binary.BigEndian.AppendUint32(b, uint32(e.Time.Unix()))
		b = binary.BigEndian.AppendUint32(b, uint32(e.Fields))
	}
	return Marks(b)
}

// Writer returns who wrote a state with these entries, or "" where they do not show it. The
// state before has the marks before, was written by last, and is recent if that was about a
// second ago. A write adds an entry or gives it a time, and within one second it may change the
// fields alone, or nothing. An entry loses fields where another one takes them. Those of the
// subresource scale have no time. If two entries have other fields within the second, it is not
// known which one took them from the other.
func Writer(before Marks, last string, recent bool, entries []Entry) string {
	now := MarksOf(entries)
	var found *Entry
	took := 0 // entries with other fields
	var timeless []*Entry
	most := rankOld
	for i := range entries {
		e := &entries[i]
		r := before.rank(now[i*markSize : (i+1)*markSize])
		if r == rankFields && !recent { // it lost fields, as its last write is longer ago
			r = rankOld
		}
		if r == rankFields {
			took++
		}
		if r > most || r == most && (found == nil || !e.Time.Before(found.Time)) {
			most, found = r, e
		}
		if e.Time.IsZero() {
			timeless = append(timeless, e)
		}
	}
	switch {
	case found == nil, most == rankFields && took > 1:
		return ""
	case most > rankOld:
		return found.name()
	case !recent && len(timeless) == 1:
		return timeless[0].name()
	case recent && alone(entries, last, found.Time):
		return last // again, within the second
	}
	return ""
}

// alone reports whether last is the only one who wrote in the second of t.
func alone(entries []Entry, last string, t time.Time) bool {
	wrote := false
	for _, e := range entries {
		if e.Time.Equal(t) {
			if e.name() != last {
				return false
			}
			wrote = true
		}
	}
	return wrote
}

// Latest returns who wrote last, by the times of entries.
func Latest(entries []Entry) string {
	by, at := "", time.Time{}
	for _, e := range entries {
		if !e.Time.Before(at) {
			by, at = e.name(), e.Time
		}
	}
	return by
}

// How much an entry shows that it was written.
const (
	rankOld = iota
	rankFields
	rankTime
)

// rank compares the mark of an entry with those before.
func (m Marks) rank(mark Marks) int {
	for ; len(m) > 0; m = m[markSize:] {
		switch {
		case m[:4] != mark[:4]:
		case m[4:8] != mark[4:8]:
			return rankTime
		case m[8:markSize] != mark[8:]:
			return rankFields
		default:
			return rankOld
		}
	}
	return rankTime
}

// Owner is an entry for people.
type Owner struct {
	Manager     string   `json:"manager"`
	Operation   string   `json:"operation"`
	Subresource string   `json:"subresource,omitempty"`
	At          int64    `json:"at,omitempty"`
	Fields      []string `json:"fields"`
	More        int      `json:"more,omitempty"`
}

const (
	maxFields = 500 // of an owner that are shown
	maxPath   = 1 << 10
	maxDepth  = 64
)

// Owned is an entry with its fields.
type Owned struct {
	Entry
	Fields json.RawMessage `json:"fieldsV1"`
}

// Owners returns the entries, the last one that wrote first.
func Owners(entries []Owned) []*Owner {
	owners := []*Owner{}
	for _, e := range entries {
		o := &Owner{Manager: e.name(), Operation: e.Operation, Subresource: e.Subresource, Fields: []string{}}
		if !e.Time.IsZero() {
			o.At = e.Time.UnixMilli()
		}
		var tree map[string]any
		if json.Unmarshal(e.Fields, &tree) == nil { // else they are of another form, and none is shown
			o.walk("", tree, 0)
		}
		slices.Sort(o.Fields)
		o.More = max(0, len(o.Fields)-maxFields)
		o.Fields = o.Fields[:len(o.Fields)-o.More]
		owners = append(owners, o)
	}
	slices.SortStableFunc(owners, func(a, b *Owner) int { return int(b.At - a.At) })
	return owners
}

// walk adds the fields below a path: f:name is a member, k:{...} an element with these keys,
// v:value an element of a set, and . the whole itself.
func (o *Owner) walk(path string, tree map[string]any, depth int) {
	_, whole := tree["."]
	if len(tree) == 0 || len(tree) == 1 && whole || depth == maxDepth {
		if path != "" {
			o.Fields = append(o.Fields, printable.Cut(printable.Line(path), maxPath))
		}
		return
	}
	for key, below := range tree {
		sub, _ := below.(map[string]any)
		kind, name, _ := strings.Cut(key, ":")
		switch kind {
		case "f":
			o.walk(member(path, name), sub, depth+1)
		case "k":
			o.walk(path+"["+keys(name)+"]", sub, depth+1)
		case ".":
		default: // of a set, or of a list by its index
			o.walk(path+"["+name+"]", sub, depth+1)
		}
	}
}

func member(path, name string) string {
	if strings.ContainsAny(name, ".[]/ ") {
		return path + "[" + name + "]"
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// keys writes {"name":"app"} as name=app.
func keys(text string) string {
	var m map[string]any
	if json.Unmarshal([]byte(text), &m) != nil {
		return text
	}
	var parts []string
	for k, v := range m {
		s, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				return text
			}
			s = string(b)
		}
		parts = append(parts, k+"="+s)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
