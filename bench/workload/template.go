package workload

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
)

// A placeholder is a run of one character that stands for something of its
// width.
type placeholder struct {
	char  byte
	width int
	fill  func(dst []byte, i, n int, rev int64)
}

// What the templates leave open. No other text in them holds such runs.
var placeholders = []placeholder{
	{'@', 6, func(dst []byte, i, _ int, _ int64) { decimal(dst, int64(i)) }},
	{'~', 7, func(dst []byte, i, n int, _ int64) { copy(dst, Namespace(i, n)) }},
	{'?', RevisionDigits, func(dst []byte, _, _ int, rev int64) { decimal(dst, rev) }},
	{'^', 36, func(dst []byte, i, _ int, _ int64) { uid(dst, uint64(i)) }},
	{'|', 64, func(dst []byte, i, _ int, _ int64) { random(dst, uint64(i)+1<<40) }},
	{'!', 64, func(dst []byte, i, _ int, _ int64) { random(dst, uint64(i)+2<<40) }},
	{'`', 14, func(dst []byte, i, _ int, _ int64) { address(dst, i) }},
}

// RevisionDigits is the width of every revision.
const RevisionDigits = 10

func hole(char byte) string {
	for _, p := range placeholders {
		if p.char == char {
			return string(bytes.Repeat([]byte{char}, p.width))
		}
	}
	panic(fmt.Sprintf("no placeholder %q", char))
}

// Template is one variant of a kind, rendered but for its placeholders.
type Template struct {
	Revision int // where the resourceVersion is

	body  []byte
	holes []filler
}

type filler struct {
	at int
	placeholder
}

func newTemplate(body []byte) Template {
	t := Template{body: body}
	for _, p := range placeholders {
		run := bytes.Repeat([]byte{p.char}, p.width)
		for from := 0; ; {
			at := bytes.Index(body[from:], run)
			if at < 0 {
				break
			}
			t.holes = append(t.holes, filler{from + at, p})
			if p.char == '?' {
				t.Revision = from + at
			}
			from += at + p.width
		}
	}
	return t
}

// Len is the length of an object, in bytes: the same for all.
func (t Template) Len() int { return len(t.body) }

// Append appends object number i of n, as of a revision.
func (t Template) Append(dst []byte, i, n int, rev int64) []byte {
	start := len(dst)
	dst = append(dst, t.body...)
	for _, h := range t.holes {
		h.fill(dst[start+h.at:start+h.at+h.width], i, n, rev)
	}
	return dst
}

// SetRevision changes the revision of an object that Append has made.
func (t Template) SetRevision(obj []byte, rev int64) {
	decimal(obj[t.Revision:t.Revision+RevisionDigits], rev)
}

func decimal(dst []byte, v int64) {
	var few [20]byte
	digits := strconv.AppendInt(few[:0], v, 10)
	pad := len(dst) - len(digits)
	for i := range pad {
		dst[i] = '0'
	}
	copy(dst[pad:], digits)
}

// address is a pod's: fourteen characters, such as 10.123.145.167.
func address(dst []byte, i int) {
	copy(dst, fmt.Sprintf("10.%d.%d.%d", 100+i/(150*150)%150, 100+i/150%150, 100+i%150))
}

func uid(dst []byte, i uint64) {
	var digits [32]byte
	random(digits[:], i)
	copy(dst, digits[:8])
	dst[8] = '-'
	copy(dst[9:], digits[8:12])
	dst[13] = '-'
	copy(dst[14:], digits[12:16])
	dst[18] = '-'
	copy(dst[19:], digits[16:20])
	dst[23] = '-'
	copy(dst[24:], digits[20:])
}

// random fills dst with hexadecimal digits that depend on seed only.
func random(dst []byte, seed uint64) {
	var b [8]byte
	for len(dst) > 0 {
		seed += 0x9e3779b97f4a7c15 // splitmix64
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		for i := range b {
			b[i] = byte(z >> (8 * i))
		}
		dst = dst[hex.Encode(dst, b[:min(8, len(dst)/2)]):]
	}
}
