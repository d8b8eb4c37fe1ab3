package codec

import "bytes"

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 10000

// A scanner finds the end of one JSON value that arrives in pieces. It knows
// strings and brackets, not the grammar between them: that a value's inside is
// valid is for whoever decodes it. The zero value is ready for a value whose
// leading white space has been skipped.
type scanner struct {
	depth   int
	started bool
	scalar  bool // a number or literal at depth 0: ends before the next delimiter
	str     bool // inside a string
	escaped bool // the string's next byte is escaped
}

// kinds of byte outside strings.
const (
	other byte = iota
	quote
	open
	shut
	delimiter // ends a number or literal
)

var kindOf = [256]byte{
	'"': quote,
	'{': open, '[': open,
	'}': shut, ']': shut,
	',': delimiter, ':': delimiter, ' ': delimiter, '\n': delimiter, '\r': delimiter, '\t': delimiter,
}

// scan takes the next piece. It returns how much of it belongs to the value
// and whether the value is complete; if not, all of b does. A bracket that
// closes nothing or nesting below MaxDepth ends the scan: bad says which.
func (s *scanner) scan(b []byte) (n int, done bool, bad string) {
	i := 0
	for i < len(b) {
		if s.str {
			i = s.scanString(b, i)
			if s.str {
				return len(b), false, ""
			}
			if s.depth == 0 {
				return i, true, ""
			}
		}
		for i < len(b) {
			kind := kindOf[b[i]]
			if kind == other || (kind == delimiter && s.depth > 0) {
				if s.depth == 0 {
					s.started, s.scalar = true, true
				}
				i++
				continue
			}
			if s.scalar { // anything but a part of it is behind it
				return i, true, ""
			}
			if kind == quote {
				s.str, s.started = true, true
				i++
				break
			}
			if kind == open {
				s.started = true
				if s.depth++; s.depth > MaxDepth {
					return i, false, "nested too deeply"
				}
				i++
				continue
			}
			if s.depth == 0 { // shut or delimiter where a value should start
				return i, false, "value expected"
			}
			i++
			if s.depth--; s.depth == 0 {
				return i, true, ""
			}
		}
	}
	return len(b), false, ""
}

// scanString returns the index behind the string's closing quote, or len(b)
// with s.str still set.
func (s *scanner) scanString(b []byte, i int) int {
	if s.escaped && i < len(b) {
		s.escaped = false
		i++
	}
	for from := i; ; {
		j := bytes.IndexByte(b[i:], '"')
		end := i + j
		if j < 0 {
			end = len(b)
		}
		slashes := 0
		for k := end - 1; k >= from && b[k] == '\\'; k-- {
			slashes++
		}
		odd := slashes&1 == 1
		if j < 0 {
			s.escaped = odd
			return end
		}
		i = end + 1
		if !odd {
			s.str = false
			return i
		}
		from = i // the escaped quote cannot escape
	}
}
