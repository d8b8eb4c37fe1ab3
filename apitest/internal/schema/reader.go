package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest/internal/causes"
)

// reader decodes JSON, with the eyes of a type if it has one.
type reader struct {
	b     []byte
	i     int
	depth int

	blind  bool // nobody asks for paths and strict
	typed  bool // drop what the type does not know, and refuse what is of another type
	path   path
	strict []string // unknown and duplicate fields
	seen   map[string]bool
	err    error

	names *[64]string // of members, lately read; nil: not worth it
}

// read decodes all of b as a value of n, which may be nil.
func (r *reader) read(n *node) (any, error) {
	if !Valid(r.b) {
		var v any
		return nil, json.Unmarshal(r.b, &v) // says what is wrong
	}
	if !r.blind {
		r.path = path{make([]byte, 0, 128), make([]int, 0, 16)}
	}
	if len(r.b) > 512 {
		r.names = new([64]string)
	}
	v := r.value(n, goField{})
	return v, r.err
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// complain notes what strict field validation refuses, once.
func (r *reader) complain(what string) {
	text := what + ` field "` + r.path.String() + `"`
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	if !r.seen[text] && len(r.strict) < strictLimit {
		r.seen[text] = true
		r.strict = append(r.strict, text)
	}
}

func (r *reader) space() {
	for r.i < len(r.b) && (r.b[r.i] == ' ' || r.b[r.i] == '\n' || r.b[r.i] == '\t' || r.b[r.i] == '\r') {
		r.i++
	}
}

// value decodes the value at r.i; the bytes are known to be valid JSON. After an
// error it continues to the end, and the result is discarded.
func (r *reader) value(n *node, at goField) any {
	r.space()
	if r.typed && n != nil {
		if err := r.mismatch(n, at); err != nil && r.err == nil {
			r.err = err
		}
	}
	switch r.b[r.i] {
	case '{', '[':
		r.depth++
		defer func() { r.depth-- }()
		if r.depth > depthLimit {
			r.fail("json: exceeded max depth")
			r.i = len(r.b)
			return nil
		}
		if r.b[r.i] == '{' {
			return r.object(n, at)
		}
		return r.list(n, at)
	case '"':
		return r.string()
	case 't':
		r.i += len("true")
		return true
	case 'f':
		r.i += len("false")
		return false
	case 'n':
		r.i += len("null")
		return nil
	}
	return r.numeral()
}

func (r *reader) object(n *node, at goField) any {
	o := make(map[string]any)
	r.i++
	for {
		r.space()
		if r.i >= len(r.b) {
			return o // too deep
		}
		switch r.b[r.i] {
		case '}':
			r.i++
			if r.typed {
				n.nulls(o)
			}
			return o
		case ',':
			r.i++
			continue
		}
		name := r.name()
		r.space()
		r.i++ // the colon
		if r.blind {
			o[name] = r.value(nil, at)
			continue
		}
		r.path.push(name)
		child, known := n.member(name)
		below := at.member(n, name, len(r.path.text))
		switch {
		case r.typed && !known:
			r.complain("unknown")
			r.skip()
			r.path.pop()
			continue
		case !r.typed:
			child = nil
		}
		if _, twice := o[name]; twice {
			r.complain("duplicate")
		}
		v := r.value(child, below)
		if twice, ok := o[name]; ok && r.typed {
			v = child.again(twice, v)
		}
		r.path.pop()
		if r.typed && v == nil && child != nil && !n.declares(name) && child.is("string") && child.format == "" {
			v = "" // what a map of strings makes of null
		}
		if r.typed && n.omits(name, v) {
			delete(o, name)
			continue
		}
		o[name] = v
	}
}

// again returns what a Go value of n becomes when it is decoded into twice: of
// objects, members stay that the second has not.
func (n *node) again(first, second any) any {
	a, ok := first.(map[string]any)
	b, also := second.(map[string]any)
	if !ok || !also {
		return second
	}
	for name, v := range b {
		if p, _ := n.member(name); n.declares(name) {
			v = p.again(a[name], v)
		}
		a[name] = v
	}
	return a
}

func (r *reader) list(n *node, at goField) any {
	l := []any{}
	r.i++
	var items *node
	if r.typed && n != nil {
		items = n.target().items
	}
	for {
		r.space()
		if r.i >= len(r.b) {
			return l
		}
		switch r.b[r.i] {
		case ']':
			r.i++
			return l
		case ',':
			r.i++
			continue
		}
		if r.blind {
			l = append(l, r.value(nil, at))
			continue
		}
		r.path.index(len(l))
		l = append(l, r.value(items, at))
		r.path.pop()
	}
}

// skip passes over a value.
func (r *reader) skip() {
	typed, strict, seen := r.typed, r.strict, r.seen
	r.typed = false
	r.value(nil, goField{})
	r.typed, r.strict, r.seen = typed, strict, seen
}

// name is string for the name of a member, which is often that of another too.
func (r *reader) name() string {
	if r.names == nil {
		return r.string()
	}
	from := r.i + 1
	to := from
	for c := r.b[to]; c != '"'; c = r.b[to] {
		if c < ' ' || c > '~' || c == '\\' {
			return r.string()
		}
		to++
	}
	in := r.b[from:to]
	r.i = to + 1
	if len(in) == 0 {
		return ""
	}
	place := &r.names[(len(in)+int(in[0])*7+int(in[len(in)-1])*31)%len(r.names)]
	if *place != string(in) {
		*place = string(in)
	}
	return *place
}

func (r *reader) string() string {
	start := r.i
	plain := true
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			plain = false
			r.i++
		}
	}
	r.i++
	in := r.b[start+1 : r.i-1]
	if plain && utf8.Valid(in) {
		return string(in)
	}
	if text, ok := unescaped(in); ok {
		return text
	}
	var s string
	if err := json.Unmarshal(r.b[start:r.i], &s); err != nil {
		r.fail("%w", err)
	}
	return s
}

// unescaped resolves the escapes of quotes and backslashes, and reports false where
// there is more to do.
func unescaped(in []byte) (string, bool) {
	b := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c == '\\' {
			if i++; in[i] != '"' && in[i] != '\\' {
				return "", false
			}
			c = in[i]
		}
		if c > '~' {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}

func (r *reader) number() string {
	start := r.i
	for r.i < len(r.b) {
		c := r.b[r.i]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		r.i++
	}
	return string(r.b[start:r.i])
}

func (r *reader) numeral() any {
	s := r.number()
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		r.fail("json: cannot unmarshal number %s into Go value of type float64", s)
		return nil
	}
	return f
}

// wordOf returns JSON's word for the type of v.
func wordOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// path is where in an object one is: "spec.containers[0].name".
type path struct {
	text []byte
	ends []int
}

func (p *path) push(name string) {
	p.ends = append(p.ends, len(p.text))
	if len(p.text) > 0 {
		p.text = append(p.text, '.')
	}
	p.text = append(p.text, short(name)...)
}

// short returns as much of a name, or of a path, as errors show: each error about what is below a
// name repeats it.
func short(name string) string {
	if len(name) > mostShown {
		return causes.Cut(name, mostShown) + "..."
	}
	return name
}

func (p *path) index(i int) {
	p.ends = append(p.ends, len(p.text))
	p.text = append(strconv.AppendInt(append(p.text, '['), int64(i), 10), ']')
}

func (p *path) pop() {
	p.text = p.text[:p.ends[len(p.ends)-1]]
	p.ends = p.ends[:len(p.ends)-1]
}

func (p *path) String() string { return string(p.text) }
