package hide

import (
	"bytes"
	"strconv"
	"sync"
	"unicode/utf8"
)

// view is what data says once its quotes are resolved: JSON's and Go's backslashes and \uXXXX, the
// %XX of URLs, the entities of HTML, and one within another, unless it quotes a part of one only.
// A credential in any of these forms has the same view as the credential itself. A pass for each
// kind of quote is repeated up to maxNested times.
type view struct {
	text     []byte
	from, to []int32 // the place in the data of each byte of text, and of the backslashes before it
	size     int     // of the data whose view this is; what follows may be a part of a unit
	plain    bool    // text is the data
}

// start and end return where the text from i to j is in the data.
func (v *view) start(i int) int {
	if v.plain {
		return i
	}
	return int(v.from[i])
}

func (v *view) end(j int) int {
	if v.plain {
		return j
	}
	return int(v.to[j-1])
}

// views are reused: they are nine times as large as the data.
var views = sync.Pool{New: func() any { return new(view) }}

// Bounds of one unit.
const (
	maxRun    = 64 // backslashes: six levels of quotes. It is even, so that pairs remain pairs
	maxNested = 4  // quotes of one kind within those of another
	maxEntity = len("#1114111")
)

// quotes are what a view resolves: what looks like one is none, perhaps, as % before a credential.
type quotes int

const (
	asIs   quotes = iota
	inJSON        // backslashes
	inAll         // those of URLs and HTML, too
)

// marks are the first bytes of what is resolved.
var marks = [...]string{asIs: "", inJSON: `\`, inAll: "\\%&+\xEF"}

// resolve makes v the view of b. Unless this is the last of the data, a unit may go on behind it.
func (v *view) resolve(b []byte, q quotes, last bool) {
	if v.text, v.size, v.plain = append(v.text[:0], b...), len(b), true; !q.in(b) {
		return
	}
	v.plain, v.from, v.to = false, v.from[:0], v.to[:0]
	for i := range b {
		v.from, v.to = append(v.from, int32(i)), append(v.to, int32(i+1))
	}
	for range maxNested {
		before := len(v.text)
		v.pass('\\', last, unquote)
		if q == inAll {
			v.pass('%', last, unescape)
			v.pass('&', last, dereference)
		}
		if len(v.text) == before {
			break // a unit is longer than what it means
		}
	}
	if q == inAll {
		v.fold(last)
	}
}

// in reports whether b may have quotes.
func (q quotes) in(b []byte) bool {
	for _, mark := range []byte(marks[q]) {
		if bytes.IndexByte(b, mark) >= 0 {
			return true
		}
	}
	return false
}

// unit is what one reads at the beginning of a text: size bytes that mean others. A size of 0 means
// that more of the text is needed.
type unit struct {
	size    int
	meaning rune
	raw     bool // meaning is a byte
	none    bool // nothing is meant
}

// pass resolves the units that begin with mark.
func (v *view) pass(mark byte, last bool, read func(b []byte, last bool) unit) {
	i := bytes.IndexByte(v.text, mark)
	if i < 0 {
		return
	}
	n, text := i, v.text
	put := func(c byte, from, to int32) {
		v.text[n], v.from[n], v.to[n] = c, from, to
		n++
	}
	for i < len(text) {
		if text[i] != mark {
			put(text[i], v.from[i], v.to[i])
			i++
			continue
		}
		u := read(text[i:], last)
		if u.size == 0 {
			v.size = int(v.from[i])
			break
		}
		from, to := v.from[i], v.to[i+u.size-1]
		switch {
		case u.none:
		case u.raw:
			put(byte(u.meaning), from, to)
		default:
			var c [utf8.UTFMax]byte
			for _, c := range c[:utf8.EncodeRune(c[:], u.meaning)] {
				put(c, from, to)
			}
		}
		i += u.size
	}
	v.text, v.from, v.to = text[:n], v.from[:n], v.to[:n]
}

// unquote reads backslashes and what follows them.
func unquote(b []byte, last bool) unit {
	run := backslashes(b[:min(len(b), maxRun)])
	rest := b[run:]
	switch {
	case len(rest) == 0 && !last:
		return unit{}
	case len(rest) == 0 || rest[0] == '\\':
		return unit{size: run, none: true}
	}
	r, n, short := character(rest)
	if 0xD800 <= r && r < 0xDC00 && n > 0 { // half of one
		run := backslashes(rest[n:min(len(rest), n+maxRun)])
		low, size, more := character(rest[n+run:])
		if short = more; size > 0 {
			r, n = (r-0xD800)<<10+(low-0xDC00)+0x10000, n+run+size
		}
	}
	switch {
	case short && !last:
		return unit{}
	case n == 0:
		return unit{size: run + 1, meaning: rune(rest[0]), raw: true}
	}
	return unit{size: run + n, meaning: r}
}

// character reads uXXXX.
func character(b []byte) (r rune, n int, short bool) {
	if len(b) == 0 {
		return 0, 0, true
	}
	if b[0] != 'u' {
		return 0, 0, false
	}
	digits := hexDigits(b[1:min(len(b), 5)])
	if digits < 4 {
		return 0, 0, len(b) == 1+digits
	}
	v, _ := strconv.ParseUint(string(b[1:5]), 16, 32) // of four digits
	return rune(v), 5, false
}

// unescape reads a % and what follows it.
func unescape(b []byte, last bool) unit {
	digits := hexDigits(b[1:min(len(b), 3)])
	switch {
	case digits == 2:
		v, _ := strconv.ParseUint(string(b[1:3]), 16, 8) // of two digits
		return unit{size: 3, meaning: rune(v), raw: true}
	case len(b) == 1+digits && !last:
		return unit{}
	}
	return unit{size: 1, meaning: '%'}
}

var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// dereference reads an & and what follows it.
func dereference(b []byte, last bool) unit {
	end := 1
	for end < len(b) && end <= maxEntity && (b[end] == '#' || '0' <= b[end] && b[end] <= '9' || 'a' <= b[end]|0x20 && b[end]|0x20 <= 'z') {
		end++
	}
	switch {
	case end == len(b) && !last:
		return unit{}
	case end == len(b) || b[end] != ';':
		return unit{size: 1, meaning: '&'}
	}
	name := b[1:end]
	r, ok := entities[string(name)]
	if digits, number := bytes.CutPrefix(name, []byte("#")); number {
		base := 10
		if hex := bytes.TrimLeft(digits, "xX"); len(hex) < len(digits) {
			digits, base = hex, 16
		}
		v, err := strconv.ParseUint(string(digits), base, 31)
		r, ok = rune(v), err == nil
	}
	if !ok {
		return unit{size: 1, meaning: '&'}
	}
	return unit{size: end + 1, meaning: r}
}

// fold makes one of what stands for another: + in URLs is a space, and kube.CleanName puts U+FFFD
// in place of / and %.
func (v *view) fold(last bool) {
	n := 0
	for i := 0; i < len(v.text); {
		c, size := v.text[i], 1
		switch c {
		case '+':
			c = ' '
		case '%':
			c = '/'
		case 0xEF:
			if bytes.HasPrefix(v.text[i:], []byte("\uFFFD")) {
				c, size = '/', 3
			} else if !utf8.FullRune(v.text[i:]) && !last {
				v.size = int(v.from[i])
				i = len(v.text)
				continue
			}
		}
		v.text[n], v.from[n], v.to[n] = c, v.from[i], v.to[i+size-1]
		n, i = n+1, i+size
	}
	v.text, v.from, v.to = v.text[:n], v.from[:n], v.to[:n]
}

// hexDigits returns how many b begins with.
func hexDigits(b []byte) int { return len(b) - len(bytes.TrimLeft(b, "0123456789abcdefABCDEF")) }

// backslashes returns how many b begins with.
func backslashes(b []byte) int { return len(b) - len(bytes.TrimLeft(b, `\`)) }
