// Package delta stores a text as its difference to a similar one.
package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// A delta has the length of the text, and then turns of a literal, by its length and bytes,
// and a copy from the base, by its length and its place: how far it is after the end of the
// copy before. All numbers are varints. The last turn may end after its literal.

// word is how many bytes a copy has at least.
const word = 8

// Encoder has memory for one Encode after the other.
type Encoder struct {
	places [1 << 12]uint32 // of words of the base, each 1 more than it is; by hash
}

// Encode appends the delta from base to text to b.
func (e *Encoder) Encode(b []byte, base, text string) []byte {
	e.index(base)
	b = binary.AppendUvarint(b, uint64(len(text)))
	done, last := 0, 0 // of text; of base, the end of the last copy
	for at := 0; at+word <= len(text); {
		from := last + at - done // if what was replaced has the same length
		if !same(base, from, text, at) {
			if from = int(e.places[hash(text[at:])]) - 1; from < 0 || !same(base, from, text, at) {
				at++
				continue
			}
		}
		for at > done && from > 0 && base[from-1] == text[at-1] {
			at, from = at-1, from-1
		}
		n := 0
		for from+n < len(base) && at+n < len(text) && base[from+n] == text[at+n] {
			n++
		}
		b = append(binary.AppendUvarint(b, uint64(at-done)), text[done:at]...)
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(n)), int64(from-last))
		at, last = at+n, from+n
		done = at
	}
	if done < len(text) {
		b = append(binary.AppendUvarint(b, uint64(len(text)-done)), text[done:]...)
	}
	return b
}

// index notes where words of base are: all of them if it is small.
func (e *Encoder) index(base string) {
	clear(e.places[:])
	for at := 0; at+word <= len(base); at += 1 + len(base)/len(e.places) {
		e.places[hash(base[at:])] = uint32(at + 1)
	}
}

func same(base string, from int, text string, at int) bool {
	return from+word <= len(base) && base[from:from+word] == text[at:at+word]
}

func hash(s string) uint64 {
	var w uint64
	for n := range word {
		w |= uint64(s[n]) << (8 * n)
	}
	return w * 0x9e3779b97f4a7c15 >> (64 - 12)
}

// errDamaged is the error of a delta that Encode did not make for the base.
var errDamaged = errors.New("the delta is damaged")

// Decode returns the text.
func Decode(base string, delta []byte) (string, error) {
	ok := true
	number := func() int {
		v, n := binary.Uvarint(delta)
		if n <= 0 || v > 1<<31 {
			ok = false
			return 0
		}
		delta = delta[n:]
		return int(v)
	}
	size := number()
	var out bytes.Buffer
	for last := 0; ok && out.Len() < size; {
		n := number()
		if n > len(delta) {
			return "", errDamaged
		}
		out.Write(delta[:n])
		if delta = delta[n:]; out.Len() >= size {
			break
		}
		n = number()
		by, width := binary.Varint(delta)
		if !ok || width <= 0 || by < -int64(last) || by > int64(len(base)-last) {
			return "", errDamaged
		}
		delta = delta[width:]
		from := last + int(by)
		if n == 0 || n > len(base)-from {
			return "", errDamaged
		}
		out.WriteString(base[from : from+n])
		last = from + n
	}
	if !ok || len(delta) > 0 || out.Len() != size {
		return "", errDamaged
	}
	return out.String(), nil
}
