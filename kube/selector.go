package kube

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/listwatch/listwatch/internal/clip"
)

// Selector is a parsed label selector: all its requirements must hold. The zero
// Selector selects everything. It is immutable and safe for concurrent use. The grammar
// is that of
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors:
//
//	app=web,tier!=db,env in (a,b),env notin (c),gpu,!spot,cores>4
type Selector struct{ reqs []requirement }

type requirement struct {
	key    string
	op     operator
	values []string // sorted
}

type operator string

const (
	opEquals    operator = "="
	opNotEquals operator = "!="
	opIn        operator = "in"
	opNotIn     operator = "notin"
	opExists    operator = "exists"
	opAbsent    operator = "!"
	opGreater   operator = ">"
	opLess      operator = "<"
)

// Matches reports whether labels satisfy every requirement. A missing label satisfies
// only !=, notin and !.
func (s Selector) Matches(labels map[string]string) bool {
	return s.MatchesFunc(func(key string) (string, bool) {
		v, ok := labels[key]
		return v, ok
	})
}

// MatchesFunc is Matches with a function that returns the value of a label and whether
// it exists.
func (s Selector) MatchesFunc(get func(key string) (value string, ok bool)) bool {
	for _, r := range s.reqs {
		v, ok := get(r.key)
		if !r.matches(v, ok) {
			return false
		}
	}
	return true
}

func (r requirement) matches(v string, ok bool) bool {
	switch r.op {
	case opEquals, opIn:
		return ok && slices.Contains(r.values, v)
	case opNotEquals, opNotIn:
		return !ok || !slices.Contains(r.values, v)
	case opExists:
		return ok
	case opAbsent:
		return !ok
	case opGreater, opLess:
		c, err := compareInts(v, r.values[0])
		return ok && err == nil && (r.op == opGreater && c > 0 || r.op == opLess && c < 0)
	}
	return false
}

// Len returns how many requirements s has.
func (s Selector) Len() int { return len(s.reqs) }

// Empty reports whether s selects everything.
func (s Selector) Empty() bool { return len(s.reqs) == 0 }

// String returns s in the canonical form that the server parses; requirements are
// sorted by key, so equal selectors have equal strings.
func (s Selector) String() string {
	var b strings.Builder
	for i, r := range s.reqs {
		if i > 0 {
			b.WriteByte(',')
		}
		switch r.op {
		case opExists:
			b.WriteString(r.key)
		case opAbsent:
			b.WriteString("!" + r.key)
		case opIn, opNotIn:
			fmt.Fprintf(&b, "%s %s (%s)", r.key, r.op, strings.Join(r.values, ","))
		default:
			b.WriteString(r.key + string(r.op) + r.values[0])
		}
	}
	return b.String()
}

// FieldSelector is a parsed field selector: terms path=value and path!=value, all of
// which must hold. The server decides which paths a resource supports; all support
// metadata.name and metadata.namespace. See
// https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/.
type FieldSelector struct{ terms []fieldTerm }

type fieldTerm struct {
	path, value string
	not         bool
}

// ParseFieldSelector parses "a=b,c==d,e!=f". In a value, \\, \, and \= stand for the
// character after the backslash. White space around a field is ignored; in a value it is
// significant, as for the server.
func ParseFieldSelector(s string) (FieldSelector, error) {
	var fs FieldSelector
	for _, part := range splitEscaped(s) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		t, err := parseFieldTerm(part)
		if err != nil {
			return FieldSelector{}, fmt.Errorf("parse field selector %q: %w", clip.Text(s, 200), err)
		}
		fs.terms = append(fs.terms, t)
	}
	return fs, nil
}

func parseFieldTerm(s string) (fieldTerm, error) {
	for i := range len(s) {
		var t fieldTerm
		var rest string
		switch {
		case s[i] == '!' && strings.HasPrefix(s[i:], "!="):
			t.not, rest = true, s[i+2:]
		case s[i] == '=':
			rest = strings.TrimPrefix(s[i+1:], "=")
		default:
			continue
		}
		t.path = strings.TrimSpace(s[:i])
		if t.path == "" {
			return t, fmt.Errorf("term %q has no field before the operator", clip.Text(s, 80))
		}
		if strings.ContainsFunc(t.path, func(r rune) bool { return r == '!' || unicode.IsSpace(r) }) {
			return t, fmt.Errorf("term %q: a field holds neither spaces nor exclamation marks", clip.Text(s, 80))
		}
		v, err := unescapeField(rest)
		t.value = v
		return t, err
	}
	return fieldTerm{}, fmt.Errorf("term %q: want field=value, field==value or field!=value", clip.Text(s, 80))
}

func splitEscaped(s string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ',':
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

func unescapeField(s string) (string, error) {
	if !strings.ContainsAny(s, `\=`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '=':
			return "", fmt.Errorf("value %q: write = as \\=", clip.Text(s, 80))
		case s[i] != '\\':
			b.WriteByte(s[i])
		case i+1 < len(s) && strings.IndexByte(`\,=`, s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		default:
			return "", fmt.Errorf(`value %q: \ must stand before \, comma or =`, clip.Text(s, 80))
		}
	}
	return b.String(), nil
}

// NameSelector returns the selector of the objects with a name, which every resource
// supports.
func NameSelector(name string) FieldSelector {
	return FieldSelector{terms: []fieldTerm{{path: "metadata.name", value: name}}}
}

// And returns the selector of the objects that both s and other select.
func (s FieldSelector) And(other FieldSelector) FieldSelector {
	return FieldSelector{terms: slices.Concat(s.terms, other.terms)}
}

// Matches reports whether every term holds; get returns the value of a path, empty if
// the object has none.
func (s FieldSelector) Matches(get func(path string) string) bool {
	for _, t := range s.terms {
		if (get(t.path) == t.value) == t.not {
			return false
		}
	}
	return true
}

// Excludes reports whether a term is known not to hold; get returns the value of a path
// and whether it is known.
func (s FieldSelector) Excludes(get func(path string) (value string, known bool)) bool {
	for _, t := range s.terms {
		if v, known := get(t.path); known && (v == t.value) == t.not {
			return true
		}
	}
	return false
}

// Paths returns the path of each term of s, in the order of the selector.
func (s FieldSelector) Paths() []string {
	var p []string
	for _, t := range s.terms {
		p = append(p, t.path)
	}
	return p
}

// Requires returns the value that path must have for s to match, if s has an = term for
// it. A server can use it to look up metadata.name directly.
func (s FieldSelector) Requires(path string) (string, bool) {
	for _, t := range s.terms {
		if t.path == path && !t.not {
			return t.value, true
		}
	}
	return "", false
}

// Empty reports whether s selects everything.
func (s FieldSelector) Empty() bool { return len(s.terms) == 0 }

// String returns s in the form that the server parses.
func (s FieldSelector) String() string {
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)
	var parts []string
	for _, t := range s.terms {
		op := "="
		if t.not {
			op = "!="
		}
		parts = append(parts, t.path+op+escape.Replace(t.value))
	}
	return strings.Join(parts, ",")
}
