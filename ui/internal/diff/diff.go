package diff

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/compare"
	"github.com/listwatch/listwatch/internal/printable"
)

// Change is a value that differs. Old or New is nil where there was none. Texts of several lines
// have Lines too: what differs between them, as a unified diff without the names.
type Change struct {
	Path  string  `json:"path"`
	Old   *string `json:"old,omitempty"`
	New   *string `json:"new,omitempty"`
	Lines string  `json:"lines,omitempty"`
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

// Texts is Objects of two JSON texts.
func Texts(a, b string, limit int) (changes []Change, more int, err error) {
	return texts(a, b, limit, lines)
}

// Brief is Texts without Lines, for a headline.
func Brief(a, b string, limit int) (changes []Change, more int, err error) {
	return texts(a, b, limit, func(compare.Difference) string { return "" })
}

func texts(a, b string, limit int, lines func(compare.Difference) string) (changes []Change, more int, err error) {
	x, err := Parse(a)
	if err != nil {
		return nil, 0, err
	}
	y, err := Parse(b)
	if err != nil {
		return nil, 0, err
	}
	changes, more = objects(x, y, limit, lines)
	return changes, more, nil
}

// Objects returns at most limit differences between two objects, what people look for
// first, and how many there are more. Revisions differ always and are left out. Where there
// are more than limit, the order is that of the first by path. More is a lower bound where
// differences have more than a megabyte.
func Objects(a, b map[string]any, limit int) (changes []Change, more int) {
	return objects(a, b, limit, lines)
}

func objects(a, b map[string]any, limit int, lines func(compare.Difference) string) (changes []Change, more int) {
	size := 0
	var list []found
	compare.Objects(a, b, maxDepth, func(d compare.Difference) bool {
		steps := d.Path.Steps()
		at := pathOf(steps)
		if at == "metadata.resourceVersion" {
			return true
		}
		if len(list) >= limit || size > maxBytes {
			more++
			return size <= maxBytes
		}
		c := Change{Path: at, Lines: lines(d)}
		size += len(at) + len(c.Lines)
		was, is := around(d)
		if !d.Added {
			c.Old = text(was)
			size += len(*c.Old)
		}
		if !d.Removed {
			c.New = text(is)
			size += len(*c.New)
		}
		f := found{Change: c, rank: rank(steps), leaf: leafOrder(d.Path)}
		if d.Path != nil {
			f.parent = d.Path.Up
		}
		list = append(list, f)
		return true
	})
	return order(list), more
}

// pathOf writes a path: a member stands in brackets where it has characters that would be
// taken for those of a path.
func pathOf(steps []*compare.Path) string {
	var b strings.Builder
	for _, step := range steps {
		switch name := step.Member; {
		case step.Element != "":
			b.WriteString(step.Element)
		case name == "" || strings.ContainsAny(name, ".[]\" "):
			b.WriteString("[" + strconv.Quote(name) + "]")
		case b.Len() > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
		if b.Len() > maxValue {
			break
		}
	}
	return printable.Cut(b.String(), maxValue)
}

// text is a value as a person reads it: a string as it is, else JSON.
func text(v any) *string {
	s, ok := v.(string)
	if !ok {
		s = string(encode(v))
	}
	s = printable.Cut(s, maxValue)
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
