package yamljson

import (
	"fmt"
	"math"
	"strconv"
)

// Limits bound what one input may take. For each, 0 is the default.
type Limits struct {
	// Bytes is the largest input; default 16 MiB.
	Bytes int
	// Documents is the largest number of documents; default 10,000.
	Documents int
	// Tokens is the largest number of characters in one document that can begin a
	// node, at any place: [ { , : ? and a - before white space. A document has at
	// most three nodes for each, and a node takes some 170 bytes. Default 400,000.
	Tokens int
	// Depth is the deepest nesting, aliases expanded; default 200.
	Depth int
	// Aliased is the number of bytes that aliases may add to a document, as JSON;
	// default 1 MiB.
	Aliased int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Bytes, 16 << 20}, {&l.Documents, 10_000}, {&l.Tokens, 400_000}, {&l.Depth, 200}, {&l.Aliased, 1 << 20}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// Error says where an input is wrong, and what is. It quotes nothing of the input.
type Error struct {
	Line int // 0 = not known
	What string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.What)
	}
	return e.What
}

// Scan returns an error if b exceeds Bytes, Documents or Tokens. It allocates nothing.
func (l Limits) Scan(b []byte) error {
	l = l.withDefaults()
	if len(b) > l.Bytes {
		return &Error{What: fmt.Sprintf("larger than %s", size(l.Bytes))}
	}
	line, tokens, documents := 1, 0, 1
	for i, c := range b {
		switch c {
		case '\n':
			line++
		case '-':
			if begin := i == 0 || b[i-1] == '\n' || b[i-1] == '\r'; begin && marker(b[i:]) {
				documents++
				tokens = 0
			} else if i+1 == len(b) || b[i+1] <= ' ' || b[i+1] >= 0x80 { // 0x80 and above: other line breaks
				tokens++
			}
		case '[', '{', ',', ':', '?':
			tokens++
		}
		if tokens > l.Tokens {
			return &Error{line, fmt.Sprintf("the document has more than %d elements", l.Tokens)}
		}
		if documents > l.Documents+1 {
			return &Error{line, fmt.Sprintf("more than %d documents", l.Documents)}
		}
	}
	return nil
}

// marker reports whether b begins with the line that separates documents.
func marker(b []byte) bool {
	return len(b) >= 3 && string(b[:3]) == "---" && (len(b) == 3 || b[3] <= ' ')
}

// encodedLen is the length of s as a string of JSON, at most.
func encodedLen(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '<', c == '>', c == '&', c == 0x7f:
			n += 5
		case c == '"', c == '\\':
			n++
		case c >= 0x80: // what is no UTF-8 becomes \ufffd
			n += 5
		}
	}
	return n
}

// add is a + b, or the largest int.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func size(bytes int) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return strconv.Itoa(bytes>>20) + " MiB"
	}
	return strconv.Itoa(bytes) + " bytes"
}
