package faults

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/listwatch/listwatch/apitest"
)

// Rule is a fault as text: one line of a script.
type Rule struct {
	Match  apitest.Match
	Times  int    // maximum number of hits; 0 = no limit
	Action string // name and arguments, such as "cut 60"; Help lists them
}

// Error reports an error in a script, and its position.
type Error struct {
	Line, Column int // from 1; the column counts characters
	Problem      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// maxScript limits a script in bytes.
const maxScript = 1 << 20

// Parse parses a script of faults, one per line, in the order in which they are to be
// set:
//
//	# The second watch of pods in shop is cut off within its sixth event.
//	watch pods ns=shop nth=2 after=5 times=1: cut 60
//	list configmaps query=continue=: status 410
//	*: delay 2s
//
// [Help] describes the language. The error joins an *[Error] for each invalid line, and
// then no rule is returned.
func Parse(text string) ([]Rule, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("a script of faults has %d bytes, at most %d are taken", len(text), maxScript)
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors write it
	var rules []Rule
	var errs []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		rule, ok, err := parseLine(strings.TrimRight(line, "\r\n"))
		switch {
		case err != nil:
			err.Line = n
			errs = append(errs, err)
		case ok:
			rules = append(rules, rule)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return rules, nil
}

// String returns r as a line that Parse reads.
func (r Rule) String() string {
	m := r.Match
	parts := []string{cmp.Or(m.Verb, "*")}
	if m.Resource != "" {
		parts = append(parts, m.Resource)
	}
	for _, k := range keys() {
		if v := k.get(&r); v != "" {
			parts = append(parts, k.name+"="+quoted(v, true))
		}
	}
	return strings.Join(parts, " ") + ": " + r.Action
}

// Apply sets the faults of rules, in order, as [Server.On] does, and returns them. If a
// rule is invalid it sets none.
func Apply(s *apitest.Server, rules []Rule) ([]*apitest.Fault, error) {
	handlers := make([]http.HandlerFunc, len(rules))
	for i, r := range rules {
		line, ok, err := parseLine(r.String())
		if err != nil {
			return nil, fmt.Errorf("fault %d, %q: %s", i+1, r, err.Problem)
		}
		if !ok || line.Match != r.Match || line.Times != r.Times {
			return nil, fmt.Errorf("fault %d, %q: there is no such match", i+1, r)
		}
		handlers[i] = handlerOf(line.Action)
	}
	var faults []*apitest.Fault
	for i, r := range rules {
		f := s.On(r.Match, handlers[i])
		if r.Times > 0 {
			f.Times(r.Times)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// verbs are the verbs at the beginning of a line, besides *.
func verbs() []string {
	return []string{"list", "watch", "get", "create", "update", "patch", "delete", "deletecollection", "post", "put", "options", "head"}
}

// key is a key of a line, and sets its value.
type key struct {
	name, doc string
	get       func(*Rule) string
	set       func(*Rule, string) error
}

func keys() []key {
	text := func(name, doc string, field func(*Rule) *string) key {
		return key{name, doc,
			func(r *Rule) string { return *field(r) },
			func(r *Rule, v string) error {
				if v == "" {
					return errors.New("want a value")
				}
				*field(r) = v
				return nil
			}}
	}
	number := func(name, doc string, field func(*Rule) *int) key {
		return key{name, doc,
			func(r *Rule) string {
				if n := *field(r); n != 0 {
					return strconv.Itoa(n)
				}
				return ""
			},
			func(r *Rule, v string) error {
				n, err := strconv.Atoi(v)
				if err != nil || n < 1 {
					return fmt.Errorf("%q is not a number from 1", v)
				}
				*field(r) = n
				return nil
			}}
	}
	return []key{
		text("ns", "only in this namespace", func(r *Rule) *string { return &r.Match.Namespace }),
		text("name", "only for this object", func(r *Rule) *string { return &r.Match.Name }),
		text("path", "only this exact URL path", func(r *Rule) *string { return &r.Match.Path }),
		text("agent", "only where the User-Agent contains this", func(r *Rule) *string { return &r.Match.UserAgent }),
		text("header", "only with this header, or a part of it: header=\"Accept: as=Table\"", func(r *Rule) *string { return &r.Match.Header }),
		text("query", "only where the raw query contains this", func(r *Rule) *string { return &r.Match.Query }),
		number("nth", "only the nth request that the rest matches", func(r *Rule) *int { return &r.Match.Nth }),
		number("after", "within a watch, when so many events have been sent", func(r *Rule) *int { return &r.Match.AfterEvent }),
		number("times", "so many times at most", func(r *Rule) *int { return &r.Times }),
	}
}

// parseLine parses one line; it returns false if the line is empty.
func parseLine(line string) (Rule, bool, *Error) {
	words, err := words(line)
	if err != nil || len(words) == 0 {
		return Rule{}, false, err
	}
	end := slices.IndexFunc(words, func(w token) bool { return w.colon })
	if end < 0 {
		return Rule{}, false, &Error{Column: utf8.RuneCountInString(line) + 1,
			Problem: `want "MATCH: ACTION", such as "watch pods after=5: cut 60"`}
	}
	rule := Rule{}
	if verb := words[0]; verb.text != "*" {
		if verb.quoted || !slices.Contains(verbs(), verb.text) {
			return rule, false, verb.problem("there is no verb %q; there are: *, %s", verb.text, strings.Join(verbs(), ", "))
		}
		rule.Match.Verb = verb.text
	}
	seen := map[string]bool{}
	for i, w := range words[1 : end+1] {
		name, value, pair := strings.Cut(w.text, "=")
		switch {
		case w.text == "": // the colon stood by itself
			continue
		case !pair && i == 0 && !w.quoted:
			rule.Match.Resource = w.text
			continue
		case !pair:
			return rule, false, w.problem("%q: want key=value", w.text)
		case seen[name]:
			return rule, false, w.problem("%s is there twice", name)
		}
		seen[name] = true
		keys := keys()
		k := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if k < 0 {
			var known []string
			for _, k := range keys {
				known = append(known, k.name)
			}
			return rule, false, w.problem("there is no key %q; there are: %s", name, strings.Join(known, ", "))
		}
		if err := keys[k].set(&rule, value); err != nil {
			return rule, false, w.problem("%s: %v", name, err)
		}
	}
	if end+1 == len(words) {
		return rule, false, &Error{Column: utf8.RuneCountInString(line) + 1, Problem: "want an action after the colon; there are: " + actionNames()}
	}
	rule.Action, err = parseAction(words[end+1:], rule.Match)
	return rule, err == nil, err
}

// token is a word of a line, without its quotes.
type token struct {
	text   string
	column int
	quoted bool // at least in part
	colon  bool // it ended in an unquoted colon, which is removed
}

func (w token) problem(format string, args ...any) *Error {
	return &Error{Column: w.column, Problem: fmt.Sprintf(format, args...)}
}

// words splits a line at blanks, up to a comment. Double quotes enclose one word, in
// Go's syntax. Only the first colon ends the match.
func words(line string) ([]token, *Error) {
	var words []token
	matched := false
	column, counted := 1, 0
	here := func(at int) int {
		column += utf8.RuneCountInString(line[counted:at])
		counted = at
		return column
	}
	for at := 0; at < len(line); {
		if c := line[at]; c == ' ' || c == '\t' {
			at++
			continue
		}
		if line[at] == '#' {
			break
		}
		w := token{column: here(at)}
		var text []byte
		bare := false // the last character was outside of quotes
		for at < len(line) && line[at] != ' ' && line[at] != '\t' {
			if line[at] != '"' {
				text = append(text, line[at])
				bare = true
				at++
				continue
			}
			quoted, err := strconv.QuotedPrefix(line[at:])
			if err != nil {
				return nil, &Error{Column: here(at), Problem: "the quotes do not end, or hold what Go's quotes may not"}
			}
			inner, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
			text = append(text, inner...)
			w.quoted, bare = true, false
			at += len(quoted)
		}
		w.text = string(text)
		if !matched && bare && strings.HasSuffix(w.text, ":") {
			w.text, w.colon, matched = strings.TrimSuffix(w.text, ":"), true, true
		}
		words = append(words, w)
	}
	return words, nil
}

// quoted quotes s if necessary; within the match also if it ends in a colon.
func quoted(s string, match bool) string {
	if s == "" || strings.ContainsAny(s, "\"") || strings.HasPrefix(s, "#") || match && strings.HasSuffix(s, ":") ||
		!utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c == ' ' || !strconv.IsPrint(c) }) {
		return strconv.Quote(s)
	}
	return s
}
