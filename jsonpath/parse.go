package jsonpath

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/listwatch/listwatch/internal/clip"
)

// Template is a template or a single path, ready to be used by any number of
// goroutines.
type Template struct {
	nodes []node
}

// node is text, an action, or a range with what it repeats.
type node struct {
	text   string
	action bool
	path   []step // of an action or a range
	loop   bool
	body   []node // of a range
}

// step leads from some values to others. Its kind says which fields count.
type step struct {
	kind   kind
	name   string     // field
	value  any        // literal: string, int64, float64, bool
	bounds [3]*int    // slice: from, to, step
	single bool       // slice: one element, at bounds[0]
	union  [][]step   // union
	test   *[2][]step // filter
	op     string     // filter; empty = the left side must lead to something
}

type kind int

const (
	field kind = iota
	wildcard
	recursive
	slice
	union
	filter
	literal
)

// What a template may be at most: it may come from a definition that somebody
// stored on a server.
const (
	maxTemplate = 64 << 10
	maxNesting  = 16 // ranges in one another
)

// Parse reads a template. Its errors say at which byte it stops making sense.
func Parse(text string) (*Template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("jsonpath: a template of %d bytes: at most %d are taken", len(text), maxTemplate)
	}
	p := &parser{s: text}
	nodes, err := p.template(0)
	if err != nil {
		return nil, fmt.Errorf("jsonpath: byte %d: %w", p.pos, err)
	}
	return &Template{nodes}, nil
}

var relaxed = regexp.MustCompile(`^\{\.?([^{}]+)\}$|^\.?([^{}]+)$`)

// ParsePath reads a single path, with or without the braces and the first dot, as
// kubectl takes it for columns and keys to sort by: metadata.name,
// .metadata.name, {.metadata.name}.
func ParsePath(text string) (*Template, error) {
	m := relaxed.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("jsonpath: %q is not a single path such as .metadata.name", clip.Text(text, 60))
	}
	path := m[1] + m[2]
	if path[0] != '$' && path[0] != '@' {
		path = "." + path
	}
	return Parse("{" + path + "}")
}

// Root returns the name of the member that all of t begins with, such as
// "metadata", and false where t may look at any: so that no more must be decoded.
func (t *Template) Root() (string, bool) {
	if len(t.nodes) != 1 || len(t.nodes[0].path) == 0 || t.nodes[0].path[0].kind != field {
		return "", false
	}
	return t.nodes[0].path[0].name, true
}

type parser struct {
	s   string
	pos int
}

func (p *parser) rest() string { return p.s[p.pos:] }

// template reads up to the end of the text, or of the range that it stands in.
func (p *parser) template(nesting int) ([]node, error) {
	if nesting > maxNesting {
		return nil, fmt.Errorf("more than %d ranges in one another", maxNesting)
	}
	var nodes []node
	for p.rest() != "" {
		text, _, action := strings.Cut(p.rest(), "{")
		if text != "" {
			nodes = append(nodes, node{text: text})
			p.pos += len(text)
		}
		if !action {
			break
		}
		p.pos++
		switch word := p.word(); word {
		case "end":
			if nesting == 0 {
				return nil, fmt.Errorf("{end} without a range")
			}
			return nodes, p.close()
		case "range":
			n := node{loop: true}
			var err error
			if n.path, err = p.path(); err == nil {
				err = p.close()
			}
			if err == nil {
				n.body, err = p.template(nesting + 1)
			}
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		default:
			path, err := p.path()
			if err == nil {
				err = p.close()
			}
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node{action: true, path: path})
		}
	}
	if nesting > 0 {
		return nil, fmt.Errorf("a range without its {end}")
	}
	return nodes, nil
}

// word takes "range" or "end", if one of them begins the action.
func (p *parser) word() string {
	rest := strings.TrimLeft(p.rest(), " ")
	for _, w := range []string{"range", "end"} {
		after, ok := strings.CutPrefix(rest, w)
		if r, _ := utf8.DecodeRuneInString(after); ok && ends(r, after == "") {
			p.pos = len(p.s) - len(after)
			return w
		}
	}
	return ""
}

// close takes the brace that ends an action.
func (p *parser) close() error {
	if !strings.HasPrefix(strings.TrimLeft(p.rest(), " "), "}") {
		return fmt.Errorf("an action without its closing brace")
	}
	p.pos += strings.IndexByte(p.rest(), '}') + 1
	return nil
}

// path reads the steps of an action, up to its brace or the end.
func (p *parser) path() ([]step, error) {
	var steps []step
	for {
		rest := p.rest()
		r, size := utf8.DecodeRuneInString(rest)
		var next []step
		var err error
		switch {
		case rest == "", r == '}':
			return steps, nil
		case r == ' ', r == '@', r == '$':
			p.pos += size
		case strings.HasPrefix(rest, "[?("):
			next, err = p.filter()
		case r == '[':
			next, err = p.bracket()
		case strings.HasPrefix(rest, ".."):
			if len(steps) > 0 && steps[len(steps)-1].kind == recursive {
				return nil, fmt.Errorf("a recursive descent (..) right after another")
			}
			p.pos += 2
			next = []step{{kind: recursive}}
			if r, _ := utf8.DecodeRuneInString(p.rest()); wordly(r) {
				next = append(next, p.member())
			}
		case r == '.':
			p.pos++
			next = []step{p.member()}
		case r == '"', r == '\'':
			next, err = p.quoted(byte(r))
		case r == '+', r == '-', unicode.IsDigit(r):
			next, err = p.number()
		case wordly(r):
			next, err = p.identifier()
		default:
			err = fmt.Errorf("%q means nothing here", r)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, next...)
	}
}

// member reads a name up to what ends it; a backslash takes the next character as
// it is.
func (p *parser) member() step {
	i := 0
	s := p.rest()
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '\\' {
			_, after := utf8.DecodeRuneInString(s[i+size:])
			i += size + after
			continue
		}
		if ends(r, false) {
			break
		}
		i += size
	}
	p.pos += i
	if s[:i] == "*" {
		return step{kind: wildcard}
	}
	return step{kind: field, name: strings.ReplaceAll(s[:i], `\`, "")}
}

func (p *parser) identifier() ([]step, error) {
	s := p.rest()
	i := strings.IndexFunc(s, func(r rune) bool { return ends(r, false) })
	if i < 0 {
		i = len(s)
	}
	switch word := s[:i]; word {
	case "true", "false":
		p.pos += i
		return []step{{kind: literal, value: word == "true"}}, nil
	default:
		return nil, fmt.Errorf("%q: a path begins with a dot, text stands in quotes, and the only words are range, end, true and false", clip.Text(word, 60))
	}
}

func (p *parser) number() ([]step, error) {
	s := p.rest()
	i := 1 + len(s[1:]) - len(strings.TrimLeftFunc(s[1:], func(r rune) bool { return r == '.' || unicode.IsDigit(r) }))
	p.pos += i
	if v, ok := number(s[:i]); ok {
		return []step{{kind: literal, value: v}}, nil
	}
	return nil, fmt.Errorf("%q is not a number", clip.Text(s[:i], 60))
}

// number returns an int64 or a float64.
func number(s string) (any, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// quoted reads text in quotes, which knows Go's escapes.
func (p *parser) quoted(quote byte) ([]step, error) {
	s := p.rest()
	var out strings.Builder
	for s = s[1:]; s != "" && s[0] != quote; {
		if s[0] == '\n' {
			break
		}
		r, multibyte, tail, err := strconv.UnquoteChar(s, quote)
		if err != nil {
			return nil, fmt.Errorf("an escape in quotes that is none")
		}
		if multibyte {
			out.WriteRune(r)
		} else {
			out.WriteByte(byte(r))
		}
		s = tail
	}
	if s == "" || s[0] != quote {
		return nil, fmt.Errorf("text without its closing quote")
	}
	p.pos = len(p.s) - len(s) + 1
	return []step{{kind: literal, value: out.String()}}, nil
}

// ends reports whether r ends a name.
func ends(r rune, eof bool) bool {
	return eof || strings.ContainsRune(" \t\r\n.,[]$@{}", r)
}

func wordly(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
