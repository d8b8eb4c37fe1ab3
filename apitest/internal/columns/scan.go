package columns

import (
	"bytes"
	"iter"
)

// Parts returns the members of a JSON object, or the elements of an array with empty
// names. b must be valid JSON, like all stored objects; for other input the result is
// undefined, but it does not panic. A name is returned without decoding.
func Parts(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := blank(b, 0)
		if i >= len(b) || b[i] != '{' && b[i] != '[' {
			return
		}
		object := b[i] == '{'
		for i = blank(b, i+1); i < len(b) && b[i] != '}' && b[i] != ']'; i = blank(b, i) {
			var name []byte
			if object {
				end := valueEnd(b, i)
				if end < i+2 {
					return
				}
				name = b[i+1 : end-1]
				if i = blank(b, end); i >= len(b) || b[i] != ':' {
					return
				}
				i = blank(b, i+1)
			}
			end := valueEnd(b, i)
			if end <= i || !yield(name, b[i:end]) {
				return
			}
			if i = blank(b, end); i < len(b) && b[i] == ',' {
				i++
			}
		}
	}
}

// blank returns the index of the next byte that is not white space.
func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the end of the value at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default:
			n := bytes.IndexAny(b[i:], ",]} \t\n\r")
			if n < 0 {
				return len(b)
			}
			i += n
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// stringEnd returns the end of the string at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(b)
}
