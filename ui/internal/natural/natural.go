// Package natural compares texts as people do.
package natural

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Compare compares texts, and the numbers in them by their value. It returns -1, 0 or 1 as
// cmp.Compare does.
func Compare(a, b string) int {
	for a != "" && b != "" {
		x, restA := digits(a)
		y, restB := digits(b)
		if x == "" || y == "" {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) (number, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsDigit(r) })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// Holds reports whether text has word with no letter or digit beside it: "kube" is in
// "kube-proxy", and not in "kubectl".
func Holds(text, word string) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for rest := text; ; {
		before, after, found := strings.Cut(rest, word)
		if !found {
			return false
		}
		at := len(text) - len(after) - len(word)
		last, _ := utf8.DecodeLastRuneInString(text[:at])
		next, _ := utf8.DecodeRuneInString(after)
		if !part(last) && !part(next) {
			return true
		}
		_, size := utf8.DecodeRuneInString(word)
		rest = rest[len(before)+size:]
	}
}
