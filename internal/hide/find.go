package hide

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A server may quote a credential, cut it, and clean it of what names must not have. So a
// credential is compared by characters, each of which may be written in several ways; backslashes
// are left out of both sides, because each level of quotes doubles them.

// maxRun is how many backslashes may stand before a character: six levels of quotes.
const maxRun = 64

// begins has the bytes with which a form of a character begins that is not the character itself.
var begins = [256]bool{'\\': true, '%': true, '&': true, '+': true, 0xEF: true} // of U+FFFD

// secret is a credential that is looked for.
type secret struct {
	runes []rune    // without backslashes
	part  int       // the first so many characters are hidden without the rest, too
	json  bool      // a quote without a backslash may be JSON's
	may   [256]bool // whether a form of the first character begins with this byte
}

// compile returns the secrets of at least n bytes; see the fields of secret.
func compile(secrets []string, n, part int, json bool) (all []*secret) {
	for _, text := range secrets {
		s := &secret{part: part, json: json, may: begins}
		for _, r := range text {
			if r != '\\' {
				s.runes = append(s.runes, r)
			}
		}
		if len(text) < n || len(s.runes) == 0 {
			continue
		}
		var first [utf8.UTFMax]byte
		utf8.EncodeRune(first[:], s.runes[0])
		s.may[first[0]] = true
		all = append(all, s)
	}
	return all
}

// find returns the next place of s in b from at on, or start = len(b). Unless this is
// the last of the data, open says that what begins at start may go on behind b.
func (s *secret) find(b []byte, at int, last bool) (start, end int, open bool) {
	for ; at < len(b); at++ {
		if !s.may[b[at]] {
			continue
		}
		run := backslashes(b[at:])
		if run > 0 && at+run < len(b) && !s.may[b[at+run]] && strings.IndexByte("untrbf", b[at+run]) < 0 {
			at += run // no form
			continue
		}
		at += max(0, run-maxRun+1) &^ 1 // those before remain pairs
		run = min(run, maxRun)
		if from, to, open := s.match(b[at:], last); to > 0 || open {
			return at + from, at + to, open
		}
		at += max(0, run-1)
	}
	return len(b), len(b), false
}

// match returns where s is that begins b, or a part of it; to = 0 if it does not begin b. In JSON,
// quotes that may be the ends of a string are not part of it, and a part ends before one.
func (s *secret) match(b []byte, last bool) (from, to int, open bool) {
	n, part := 0, 0 // part is where the first such quote stands
	for i, want := range s.runes {
		size, short := character(b[n:], want)
		switch {
		case short && !last:
			return 0, 0, true
		case size == 0 && part > 0:
			return from, part, false
		case size == 0 && part == 0 && i >= s.part:
			return from, n, false
		case size == 0:
			return 0, 0, false
		}
		if s.json && quote(b[n:n+size]) {
			switch {
			case i == 0:
				from = size
			case i == len(s.runes)-1:
				return from, n, false
			case part == 0 && i < s.part:
				part = -1 // too short
			case part == 0:
				part = n
			}
		}
		n += size
	}
	return from, n, false
}

// quote reports whether a character is a quote without an escape.
func quote(character []byte) bool {
	run := backslashes(character)
	return run%2 == 0 && string(character[run:]) == `"`
}

// character returns how many bytes at the beginning of b are a form of want; short says that more
// of b may change that.
func character(b []byte, want rune) (n int, short bool) {
	if len(b) > 0 && b[0] < utf8.RuneSelf && !begins[b[0]] {
		if rune(b[0]) == want {
			n = 1
		}
		return n, false
	}
	starts, next := make([]int, 0, 4), 0
	for size := 1; size > 0 && len(starts) < maxRun; next += size {
		starts = append(starts, next)
		if size, _ = percent(b[next:], '\\'); size == 0 { // a backslash in a URL
			size = backslashes(b[next:])
		}
	}
	if want == '%' { // that backslash begins with one, too
		slices.Reverse(starts)
	}
	for _, start := range starts {
		if size, more := written(b[start:], want); size > 0 || more {
			return start + size, more
		}
	}
	return 0, false
}

// written is character, but for backslashes in URLs.
func written(b []byte, want rune) (n int, short bool) {
	run := min(backslashes(b), maxRun)
	if b = b[run:]; len(b) == 0 {
		return 0, true
	}
	if run > 0 {
		n, short = escaped(b, want)
	}
	for _, form := range []func([]byte, rune) (int, bool){percent, entity, plain} {
		if n > 0 {
			return run + n, short
		}
		var more bool
		n, more = form(b, want)
		short = short || more
	}
	if n > 0 {
		n += run
	}
	return n, short
}

// escaped looks for want as JSON and Go write it after a backslash.
func escaped(b []byte, want rune) (n int, short bool) {
	for i, r := range "\n\t\r\b\f" {
		if r == want && b[0] == "ntrbf"[i] {
			return 1, false
		}
	}
	r, n, short := unit(b)
	if n > 0 && 0xD800 <= r && r < 0xDC00 { // half of a character
		run := backslashes(b[n:])
		low, size, more := unit(b[n+run:])
		if size == 0 {
			return 0, more
		}
		r, n = (r-0xD800)<<10+(low-0xDC00)+0x10000, n+run+size
	}
	if n > 0 && r == '&' { // it may begin an entity
		if size, more := reference(b[n:], want); size > 0 || more {
			return n + size, more
		}
	}
	if n > 0 && (r == want || r == utf8.RuneError && cleaned(want) || r == '+' && want == ' ') {
		return n, false
	}
	return 0, short
}

// unit reads uXXXX.
func unit(b []byte) (r rune, n int, short bool) {
	if len(b) == 0 {
		return 0, 0, true
	}
	if b[0] != 'u' {
		return 0, 0, false
	}
	v, err := strconv.ParseUint(string(b[1:min(len(b), 5)]), 16, 32)
	switch {
	case len(b) == 1:
		return 0, 0, true
	case err != nil:
		return 0, 0, false
	case len(b) < 5:
		return 0, 0, true
	}
	return rune(v), 5, false
}

// percent looks for want as URLs write it, also one within another.
func percent(b []byte, want rune) (n int, short bool) {
	if want == ' ' && len(b) > 0 && b[0] == '+' {
		return 1, false
	}
	var form [utf8.UTFMax]byte
	for _, c := range form[:utf8.EncodeRune(form[:], want)] {
		if n == len(b) {
			return 0, true
		}
		if b[n] != '%' {
			return 0, false
		}
		n++
		nested := 0
		for ; bytes.HasPrefix(b[n:], []byte("25")); n += 2 {
			nested++
		}
		if c == '%' && nested > 0 {
			continue
		}
		if len(b) < n+2 {
			return 0, true
		}
		if v, err := strconv.ParseUint(string(b[n:n+2]), 16, 8); err != nil || byte(v) != c {
			return 0, false
		}
		n += 2
	}
	return n, false
}

// entity looks for want as HTML and XML write it.
func entity(b []byte, want rune) (n int, short bool) {
	if b[0] != '&' {
		return 0, false
	}
	n, short = reference(b[1:], want)
	if n > 0 {
		n++
	}
	return n, short
}

var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// reference looks for what follows the & of an entity.
func reference(b []byte, want rune) (n int, short bool) {
	const longest = len("#1114111;")
	name, _, found := bytes.Cut(b[:min(len(b), longest)], []byte(";"))
	if !found {
		return 0, len(b) < longest
	}
	n = len(name) + 1
	r := entities[string(name)]
	if digits, ok := bytes.CutPrefix(name, []byte("#")); ok {
		base := 10
		if hex := bytes.TrimLeft(digits, "xX"); len(hex) < len(digits) {
			digits, base = hex, 16
		}
		v, _ := strconv.ParseUint(string(digits), base, 31)
		r = rune(v)
	}
	if r == '&' { // and what follows may be a reference again
		if inner, short := reference(b[n:], want); inner > 0 || short && want != '&' {
			return n + inner, short
		}
	}
	if r != want {
		return 0, false
	}
	return n, false
}

// plain looks for want as it is, or as the character that kube.CleanName puts in its place.
func plain(b []byte, want rune) (n int, short bool) {
	r, n := utf8.DecodeRune(b)
	if r == want || r == utf8.RuneError && n > 1 && cleaned(want) {
		return n, false
	}
	return 0, !utf8.FullRune(b)
}

// cleaned reports whether something else may stand in place of r in a name.
func cleaned(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// backslashes returns how many b begins with.
func backslashes(b []byte) int { return len(b) - len(bytes.TrimLeft(b, `\`)) }
