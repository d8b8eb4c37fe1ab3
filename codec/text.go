package codec

import "unicode/utf8"

// unquote returns a decoded string without its quotes; it aliases b if there are no
// escapes.
func unquote(b []byte) []byte {
	b = b[1 : len(b)-1]
	for _, c := range b {
		if c == '\\' {
			return unescape(nil, b)
		}
	}
	return b
}

// unescape appends the decoded content of a string to dst. As in encoding/json, half a
// surrogate pair becomes U+FFFD.
func unescape(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			dst = append(dst, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(s[i:])
			if r < 0 {
				dst = append(dst, 'u')
				break
			}
			i += 4
			if r >= 0xD800 && r < 0xDC00 {
				if low := hex4(s[i+2:]); low >= 0xDC00 && low < 0xE000 {
					r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r) // U+FFFD for what is left of surrogates
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// hex4 returns the value of the escape \uXXXX at the start of b, -1 if there is none.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// maxInvalid limits an object that is not UTF-8, in bytes: with replacements it is up
// to three times as large.
const maxInvalid = 1 << 20

// objectUTF8 is validUTF8 for an object; a large one is refused instead.
func objectUTF8(b []byte) ([]byte, error) {
	if len(b) > maxInvalid && !utf8.Valid(b) {
		return nil, &SyntaxError{Msg: "invalid UTF-8 in a large object"}
	}
	return validUTF8(b), nil
}

// validUTF8 returns b with every invalid byte replaced by U+FFFD, as encoding/json
// reads it. It returns b itself if it is valid.
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return out
}

// escapeLen returns the length of the escape sequence at the start of b, 0 if there is
// none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hex4(b) >= 0 {
			return 6
		}
	}
	return 0
}
