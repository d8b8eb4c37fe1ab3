package yamltext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// maxDepth is how many levels have lines of their own; deeper values stand on one line.
const maxDepth = 64

// Of converts JSON to YAML, in the order of its members, with two spaces and lists that
// are not indented. Every string that YAML could read in another way is quoted as in
// JSON. What is above limit bytes is cut at the end of a line, and truncated true.
func Of(b []byte, limit int) (text string, truncated bool, err error) {
	w := writer{dec: json.NewDecoder(bytes.NewReader(b)), limit: limit}
	w.dec.UseNumber()
	if err := w.document(); err != nil && err != errFull {
		return "", false, fmt.Errorf("convert JSON to YAML: %w", err)
	}
	if text = w.out.String(); len(text) <= limit {
		return text, false, nil
	}
	return text[:strings.LastIndexByte(text[:limit], '\n')+1], true, nil
}

// errFull ends the conversion at the limit.
var errFull = errors.New("the limit is reached")

type writer struct {
	dec   *json.Decoder
	out   strings.Builder
	limit int
}

func (w *writer) document() error {
	t, err := w.dec.Token()
	switch {
	case err != nil:
		return err
	case t == json.Delim('{') && w.dec.More():
		return w.object(0)
	case t == json.Delim('[') && w.dec.More():
		return w.list(0)
	}
	return w.line(t)
}

// object writes the members after {. The first line is indented already.
func (w *writer) object(indent int) error {
	for first := true; w.dec.More(); first = false {
		if err := w.next(first, indent); err != nil {
			return err
		}
		name, err := w.dec.Token()
		if err != nil {
			return err
		}
		w.out.WriteString(scalar(name) + ":")
		if err := w.value(indent, false); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

// list writes the elements after [. The first line is indented already.
func (w *writer) list(indent int) error {
	for first := true; w.dec.More(); first = false {
		if err := w.next(first, indent); err != nil {
			return err
		}
		w.out.WriteByte('-')
		if err := w.value(indent, true); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

// next begins a line.
func (w *writer) next(first bool, indent int) error {
	if w.out.Len() > w.limit {
		return errFull
	}
	if !first {
		w.space(indent)
	}
	return nil
}

func (w *writer) space(n int) {
	for range n {
		w.out.WriteByte(' ')
	}
}

// value writes what stands behind a name, or behind the dash of an element.
func (w *writer) value(indent int, element bool) error {
	t, err := w.dec.Token()
	if err != nil {
		return err
	}
	if open, ok := t.(json.Delim); ok && w.dec.More() && indent <= 2*maxDepth {
		if element || open == '{' {
			indent += 2
		}
		if element {
			w.out.WriteByte(' ')
		} else {
			w.out.WriteByte('\n')
			w.space(indent)
		}
		if open == '{' {
			return w.object(indent)
		}
		return w.list(indent)
	}
	if s, ok := t.(string); ok && literal(s) {
		w.literal(s, indent+2)
		return nil
	}
	w.out.WriteByte(' ')
	return w.line(t)
}

// line writes the value that begins with t, and ends the line.
func (w *writer) line(t json.Token) error {
	if _, composite := t.(json.Delim); !composite {
		w.out.WriteString(scalar(t))
	} else if err := w.flow(t); err != nil {
		return err
	}
	w.out.WriteByte('\n')
	return nil
}

// flow writes the value that begins with t as JSON.
func (w *writer) flow(t json.Token) error {
	open, composite := t.(json.Delim)
	if !composite {
		w.out.WriteString(quoted(t))
		return nil
	}
	w.out.WriteString(open.String())
	for first := true; w.dec.More(); first = false {
		if w.out.Len() > w.limit {
			return errFull
		}
		if !first {
			w.out.WriteByte(',')
		}
		t, err := w.dec.Token()
		if err == nil && open == '{' {
			w.out.WriteString(quoted(t) + ":")
			t, err = w.dec.Token()
		}
		if err != nil {
			return err
		}
		if err := w.flow(t); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err == nil {
		w.out.WriteString(end.(json.Delim).String())
	}
	return err
}

// literal reports whether s has lines that a block shows as they are.
func literal(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n\n") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && special(r) })
}

func special(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd || r >= 0xd800 && r < 0xe000 || r > 0xffff
}

func (w *writer) literal(s string, indent int) {
	head := " |-\n"
	if t, ok := strings.CutSuffix(s, "\n"); ok {
		s, head = t, " |\n"
	}
	w.out.WriteString(head)
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" {
			w.space(indent)
		}
		w.out.WriteString(line + "\n")
	}
}

// plain strings mean themselves without quotes; words are those that mean something else.
var (
	plain = regexp.MustCompile(`^(\.?[A-Za-z]|[_/])[A-Za-z0-9_./@+()-]*(:[A-Za-z0-9_./@+-]+)*( +[A-Za-z0-9_./@+(),-]+)*$`)
	words = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true, ".inf": true, ".nan": true}
)

// scalar is a value without members, without quotes where it needs none.
func scalar(t json.Token) string {
	if s, ok := t.(string); ok && plain.MatchString(s) && !words[strings.ToLower(s)] {
		return s
	}
	return quoted(t)
}

// quoted is a value without members as JSON, which is YAML too, but for characters that
// YAML does not take as they are.
func quoted(t json.Token) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(t) // of a token, into memory
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if special(r) && r <= 0xffff {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
