// Package printable makes text that others wrote fit for people: for a terminal, which
// obeys control characters, and for a log, whose lines could be forged.
//
// What is never printed as it is are the control characters of ASCII and of ISO 8859
// (U+0080 to U+009F, among them the one-byte forms of ESC sequences), the characters
// that change the direction of text, by which it can be shown in another order than it
// has, and the separators of lines and paragraphs. [Line] is for messages, [Cell] for
// columns and single values, [Escape] for whole outputs, such as JSON.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unsafe says whether a terminal obeys r, or shows what follows in another order.
func Unsafe(r rune) bool {
	switch {
	case r < ' ':
		return true
	case r < 0x7f:
		return false
	}
	return r < 0xa0 || r == '\u2028' || r == '\u2029' || r > 0x600 && unicode.Is(unicode.Bidi_Control, r)
}

// Line returns s in one line: spaces and line breaks become one space each, and what is
// unsafe is left out, together with what is not UTF-8.
func Line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if !Unsafe(r) && !invalid(s[i:], r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Cell returns the first line of s, and marks what was cut off by three dots. Control
// characters become ^X as in kubectl's columns, and what else is unsafe becomes U+FFFD.
func Cell(s string) string {
	if cut := strings.IndexAny(s, "\n\r\f"); cut >= 0 {
		s = s[:cut] + "..."
	}
	if clean(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < ' ':
			b.WriteByte('^')
			b.WriteRune(r + '@')
		case Unsafe(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Escape appends s to b, in which it keeps tabs and line breaks, and writes what else is
// unsafe as \uXXXX: within strings of JSON and quoted strings of YAML that is the same
// value. What is not UTF-8 becomes \ufffd.
func Escape(b, s []byte) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\ufffd`...)
		case r != '\n' && r != '\t' && Unsafe(r):
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return b
}

// clean says whether s is fit as it is, which is the rule.
func clean(s string) bool {
	for i, r := range s {
		if Unsafe(r) || invalid(s[i:], r) {
			return false
		}
	}
	return true
}

// invalid says whether r, the first rune of s, stands for a byte that is not UTF-8.
func invalid(s string, r rune) bool {
	if r != utf8.RuneError {
		return false
	}
	_, n := utf8.DecodeRuneInString(s)
	return n == 1
}
