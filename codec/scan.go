package codec

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// MaxDepth limits the nesting of arrays and objects.
const MaxDepth = 10000

// A scanner finds the end of one JSON value that arrives in pieces. It recognizes
// strings and brackets, not the grammar between them: the decoder checks that. The zero
// value is ready for a value whose leading white space was skipped.
type scanner struct {
	depth   int
	scalar  bool // a number or literal at depth 0: ends before the next delimiter
	str     bool // inside a string
	escaped bool // the string's next byte is escaped
}

// Kinds of bytes outside of strings.
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

// scan scans the next piece. It returns how much of it belongs to the value and whether
// the value is complete; if not, all of b belongs to it. An unmatched closing bracket
// or too deep nesting ends the scan: bad is the error.
func (s *scanner) scan(b []byte) (n int, done bool, bad string) {
	i := 0
	for i < len(b) {
		if s.depth > 0 && len(b)-i >= 8 {
			if i, done, bad = s.words(b, i); done || bad != "" {
				return i, done, bad
			}
		}
		// Values without brackets, the last bytes of a piece, and a backslash outside
		// of strings.
		for end := min(i+8, len(b)); i < end; {
			if s.str {
				i = s.scanString(b, i)
				if s.str {
					return len(b), false, ""
				}
				if s.depth == 0 {
					return i, true, ""
				}
				continue
			}
			kind := kindOf[b[i]]
			if kind == other || (kind == delimiter && s.depth > 0) {
				if s.depth == 0 {
					s.scalar = true
				}
				i++
				continue
			}
			if s.scalar { // the value ended before this byte
				return i, true, ""
			}
			switch kind {
			case quote:
				s.str = true
			case open:
				if s.depth++; s.depth > MaxDepth {
					return i, false, "nested too deeply"
				}
				if s.depth == 1 {
					end = i // the inside is scanned by words
				}
			default: // shut, or a delimiter where a value should start
				if s.depth == 0 {
					return i, false, "value expected"
				}
				if s.depth--; s.depth == 0 {
					return i + 1, true, ""
				}
			}
			i++
		}
	}
	return len(b), false, ""
}

// words continues eight bytes at a time, inside of brackets, as long as b has them; the
// results are as for scan. It stops early, with neither done nor bad, before eight
// bytes with a backslash outside of strings, where it does not escape.
//
// Most words have neither brackets nor backslashes: then only their quotes are counted.
func (s *scanner) words(b []byte, i int) (n int, done bool, bad string) {
	depth := s.depth
	noted := uint64(0) // flags: if their number is odd, the next byte is inside of a string
	if s.str {
		noted = 0x80
	}
	if s.escaped {
		s.escaped = false
		i++
	}
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if beyond := x & highs; beyond != 0 { // non-ASCII bytes do not count
			x &^= beyond >> 7 * 0xFF
		}
		quotes := equal(x, '"'*ones) & highs
		// With the bit of letter case set, [ becomes {, ] becomes }, and the backslash
		// is between them.
		if ((x|0x20*ones)+(0x80-'{')*ones)&highs == 0 {
			noted ^= quotes
			continue
		}
		within, over := parity(noted)*ones, 0
		if slashes := equal(x, '\\'*ones) & highs; slashes != 0 {
			all := slashes
			for slashes != 0 {
				slash := slashes & -slashes
				slashes &^= slash | slash<<8
				quotes &^= slash << 8
				over = int(slash >> 63) // it escapes the first byte of the next word
			}
			if all&^(inside(quotes, within)<<7) != 0 {
				break
			}
		}
		noted ^= quotes
		out := ^(inside(quotes, within) << 7) & highs
		x |= 0x20 * ones
		opens, shuts := equal(x, '{'*ones)&out, equal(x, '}'*ones)&out
		if more, less := count(opens), count(shuts); less < depth && depth+more <= MaxDepth {
			depth += more - less
			i += over
			continue
		}
		for both := opens | shuts; both != 0; both &= both - 1 {
			at := i + bits.TrailingZeros64(both)/8
			if both&-both&opens != 0 {
				if depth++; depth > MaxDepth {
					return at, false, "nested too deeply"
				}
			} else if depth--; depth == 0 {
				return at + 1, true, ""
			}
		}
		i += over
	}
	if i > len(b) {
		s.escaped = true
		i = len(b)
	}
	s.depth, s.str = depth, parity(noted) != 0
	return i, false, ""
}

// scanString returns the index after the string's closing quote, or len(b) with s.str
// still set.
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
		from = i // the escaped quote cannot escape another byte
	}
}
