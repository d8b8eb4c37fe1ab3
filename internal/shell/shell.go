// Package shell keeps text that others wrote from being read by a shell as anything
// but a word. [Quote] makes the words of a command that a person may copy, [Inert]
// says which words a completion script may hand to a shell unquoted: bash inserts a
// completion into the command line as it is, and evaluates that line on the next TAB.
//
// Both are for the shells of Unix: sh, bash, zsh and fish.
package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns the words of a command, separated by spaces, each quoted where a
// shell would not read it as that one word. A word with characters that are not
// printable, or that change the direction of text, is written with $'...', which
// bash, zsh, ksh and POSIX.1-2024 know.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

func quote(word string) string {
	switch {
	case word == "":
		return "''"
	case !utf8.ValidString(word) || strings.ContainsFunc(word, unprintable):
		return quoteBytes(word)
	case word[0] == '=' || strings.ContainsFunc(word, func(r rune) bool { return !literal(r) && !strings.ContainsRune("/+=@%,", r) }):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// quoteBytes writes each byte that is no printable ASCII as \NNN, in octal.
func quoteBytes(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(word) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			// Three octal digits end by themselves; \xHH would go on in some shells.
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Inert says whether completion may offer word: it has only letters and digits of
// ASCII, ". _ : -", and after its first character "@" and "/", as contexts of kubeadm and
// EKS have; and it begins like neither a flag nor cobra's mark of help texts.
func Inert(word string) bool {
	return word != "" && word[0] != '-' && literal(rune(word[0])) && !strings.HasPrefix(word, "_activeHelp_") &&
		!strings.ContainsFunc(word, func(r rune) bool { return !literal(r) && r != '@' && r != '/' })
}

// literal are the characters that no shell interprets anywhere in a word.
func literal(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == ':' || r == '-'
}
