package jsonpath

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
)

// sub reads text that stands alone, such as one side of a comparison.
func sub(text string) ([]step, error) {
	p := &parser{s: text}
	steps, err := p.path()
	if err == nil && p.rest() != "" {
		err = fmt.Errorf("a brace inside brackets")
	}
	return steps, err
}

var (
	quotedKey = regexp.MustCompile(`^'([^']*)'$`)
	bounds    = regexp.MustCompile(`^(-?\d*)(:-?\d*)?(:-?\d*)?$`)
)

// bracket reads [..], but for filters.
func (p *parser) bracket() ([]step, error) {
	inside, _, ok := strings.Cut(p.rest()[1:], "]")
	if !ok || strings.Contains(inside, "\n") {
		return nil, fmt.Errorf("a bracket that is not closed")
	}
	p.pos += len(inside) + 2
	if inside == "*" {
		inside = ":"
	}
	if parts := strings.Split(inside, ","); len(parts) > 1 {
		s := step{kind: union}
		for _, part := range parts {
			one, err := sub("[" + strings.Trim(part, " ") + "]")
			if err != nil {
				return nil, err
			}
			s.union = append(s.union, one)
		}
		return []step{s}, nil
	}
	if key := quotedKey.FindStringSubmatch(inside); key != nil {
		return sub("." + key[1]) // a dot in quotes is still a dot
	}
	m := bounds.FindStringSubmatch(inside)
	if m == nil {
		return nil, fmt.Errorf("[%s] is no index, no name in single quotes and no filter", clip.Text(inside, 60))
	}
	s := step{kind: slice, single: m[2] == "" && m[3] == ""}
	for i, text := range m[1:] {
		if text = strings.TrimPrefix(text, ":"); text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("[%s] holds a number that is none", clip.Text(inside, 60))
		}
		s.bounds[i] = &n
	}
	if s.single && s.bounds[0] == nil {
		return nil, fmt.Errorf("[] is empty: [*] means all")
	}
	return []step{s}, nil
}

var comparison = regexp.MustCompile(`^([^!<>=]+)([!<>=]+)(.+?)$`)

// filter reads [?(..)]. There are none in one another: the first parenthesis closes.
func (p *parser) filter() ([]step, error) {
	s := p.rest()[len("[?("):]
	end := closing(s)
	if end < 0 || !strings.HasPrefix(s[end:], ")]") {
		return nil, fmt.Errorf("a filter without its closing )]")
	}
	text := s[:end]
	f := step{kind: filter, test: &[2][]step{}}
	left, right := text, ""
	if m := comparison.FindStringSubmatch(text); m != nil {
		left, f.op, right = m[1], m[2], m[3]
		if !slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, f.op) {
			return nil, fmt.Errorf("a filter compares by == != < <= > or >=, not by %q", f.op)
		}
	}
	var err error
	if f.test[0], err = sub(left); err == nil && f.op != "" {
		f.test[1], err = sub(right)
	}
	if err != nil {
		return nil, err
	}
	p.pos += len("[?(") + end + len(")]")
	return []step{f}, nil
}

// closing returns where the parenthesis stands that closes a filter: not one in
// quotes.
func closing(s string) int {
	var quote byte
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n':
			return -1
		case quote != 0:
			if c == quote && s[i-1] != '\\' {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ')':
			return i
		}
	}
	return -1
}
