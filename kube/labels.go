package kube

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
)

// ParseSelector parses a label selector. Keys and values are checked by the rules for
// labels, so that mistakes are found before a request is sent.
func ParseSelector(s string) (Selector, error) {
	p := labelParser{rest: s}
	var sel Selector
	for p.space(); p.rest != ""; {
		r, err := p.requirement()
		if err != nil {
			return Selector{}, fmt.Errorf("parse label selector %q: %w", clip.Text(s, 200), err)
		}
		sel.reqs = append(sel.reqs, r)
		if p.space(); p.rest == "" {
			break
		}
		if !p.take(",") {
			return Selector{}, fmt.Errorf("parse label selector %q: want a comma, found %q", clip.Text(s, 200), clip.Text(p.rest, 40))
		}
		if p.space(); p.rest == "" {
			return Selector{}, fmt.Errorf("parse label selector %q: nothing after the last comma", clip.Text(s, 200))
		}
	}
	slices.SortFunc(sel.reqs, requirement.compare)
	return sel, nil
}

// LabelsSelector returns the selector that requires each label of m. It does not check
// the labels: pass those of an object, which the server has checked.
func LabelsSelector(m map[string]string) Selector {
	var s Selector
	for k, v := range m {
		s.reqs = append(s.reqs, requirement{k, opEquals, []string{v}})
	}
	slices.SortFunc(s.reqs, requirement.compare)
	return s
}

// compare orders requirements for printing.
func (r requirement) compare(o requirement) int {
	return cmp.Or(cmp.Compare(r.key, o.key), cmp.Compare(r.op, o.op), slices.Compare(r.values, o.values))
}

type labelParser struct{ rest string }

func (p *labelParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *labelParser) take(tok string) bool {
	p.space()
	var ok bool
	p.rest, ok = strings.CutPrefix(p.rest, tok)
	return ok
}

func (p *labelParser) word() string {
	p.space()
	i := strings.IndexAny(p.rest, " \t\r\n=!<>(),")
	if i < 0 {
		i = len(p.rest)
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *labelParser) requirement() (requirement, error) {
	if p.take("!") {
		key := p.word()
		return requirement{key, opAbsent, nil}, checkLabelKey(key)
	}
	r := requirement{key: p.word()}
	if err := checkLabelKey(r.key); err != nil {
		return r, err
	}
	p.space()
	switch {
	case p.rest == "" || p.rest[0] == ',':
		r.op = opExists
		return r, nil
	case p.take("=="), p.take("="):
		r.op = opEquals
	case p.take("!="):
		r.op = opNotEquals
	case p.take(">"):
		r.op = opGreater
	case p.take("<"):
		r.op = opLess
	default:
		switch w := p.word(); operator(w) {
		case opIn, opNotIn:
			r.op = operator(w)
			return r, p.set(&r)
		default:
			return r, fmt.Errorf("after %q: want one of = == != in notin < > and a value, or a comma, found %q", clip.Text(r.key, 80), clip.Text(w+p.rest, 40))
		}
	}
	v := p.word()
	r.values = []string{v}
	if r.op == opGreater || r.op == opLess {
		if _, err := strconv.ParseInt(v, 10, 64); err != nil {
			return r, fmt.Errorf("%q %s %q: want an integer", clip.Text(r.key, 80), r.op, clip.Text(v, 80))
		}
	}
	return r, checkLabelValue(v)
}

func (p *labelParser) set(r *requirement) error {
	if !p.take("(") {
		return fmt.Errorf("after %q %s: want (value,...)", clip.Text(r.key, 80), r.op)
	}
	for {
		v := p.word()
		if err := checkLabelValue(v); err != nil {
			return err
		}
		r.values = append(r.values, v)
		if p.take(")") {
			break
		}
		if !p.take(",") {
			return fmt.Errorf("after %q %s (: want a comma or ), found %q", clip.Text(r.key, 80), r.op, clip.Text(p.rest, 40))
		}
	}
	slices.Sort(r.values)
	r.values = slices.Compact(r.values)
	return nil
}

// checkLabelKey checks [prefix/]name: a DNS subdomain of at most 253 bytes and a
// qualified name of at most 63.
func checkLabelKey(key string) error {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		name, prefix = prefix, ""
	}
	switch {
	case key == "":
		return errors.New("a label key is missing")
	case found && (prefix == "" || len(prefix) > 253 || !isSubdomain(prefix)):
		return fmt.Errorf("label key %q: the part before / is not a lower-case DNS name", clip.Text(key, 80))
	case len(name) > 63 || !isQualified(name):
		return fmt.Errorf("label key %q: want at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit", clip.Text(key, 80))
	}
	return nil
}

func checkLabelValue(v string) error {
	if v != "" && (len(v) > 63 || !isQualified(v)) {
		return fmt.Errorf("label value %q: want at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit", clip.Text(v, 80))
	}
	return nil
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isQualified(s string) bool {
	if s == "" || !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func isSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || !isQualified(part) || strings.ToLower(part) != part || strings.Contains(part, "_") {
			return false
		}
	}
	return true
}

func compareInts(a, b string) (int, error) {
	x, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return 0, err
	}
	y, err := strconv.ParseInt(b, 10, 64)
	return cmp.Compare(x, y), err
}
