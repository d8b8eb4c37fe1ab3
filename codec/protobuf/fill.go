package protobuf

import (
	"encoding/base64"
	"math"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
)

// A filler fills a value from the wire. It takes what kube-apiserver sends. Whatever
// is unusual, a message in pieces, a list that is not in one place, a number that does
// not fit, is odd to it; then nothing that it did counts, and the object is decoded by
// way of JSON, which knows what is to become of it.
type filler struct {
	odd   bool
	sum   int      // bytes of memory that the value takes, as far as they add up quickly
	text  []byte   // what the strings that share one allocation mean, one behind the other
	parts []part   // the strings
	later []filled // who gets them
}

// A part is a string: text[lo:hi], or one on its own.
type part struct {
	lo, hi int
	own    string
}

// filled is a string, or a map, and the parts that it is made of.
type filled struct {
	v        reflect.Value
	from, to int
}

const (
	// Strings of at most short bytes share an allocation of at most shared:
	// whoever keeps a name keeps its neighbours alive, but no long annotation.
	short  = 256
	shared = 4 << 10
	most   = 1 << 10 // strings that wait for their allocation

	chunk = 32 << 10 // a larger buffer is not used again

	mapHead  = 64 // bytes of a map without entries
	mapGroup = 8  // entries that it has room for with the first
)

// fillers are used again for what they have grown.
var fillers = sync.Pool{New: func() any { return new(filler) }}

func (f *filler) free() {
	if f.clear(); cap(f.text) <= chunk {
		fillers.Put(f)
	}
}

// clear makes f as good as new; nothing in it refers to what it filled.
func (f *filler) clear() {
	clear(f.parts)
	clear(f.later)
	*f = filler{text: f.text[:0], parts: f.parts[:0], later: f.later[:0]}
}

// weigh adds n bytes of memory, and reports false where the value takes too many.
func (f *filler) weigh(n int) bool {
	f.sum += n
	return f.sum <= codec.MaxDecoded
}

// uvarint reads a number; it is odd if there is none.
func (f *filler) uvarint(b []byte) (uint64, []byte) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:]
	}
	w := protojson.Wire(b)
	n, err := w.Varint()
	if err != nil {
		f.odd = true
		return 0, nil
	}
	return n, w
}

// bytes reads the length of what follows, and that.
func (f *filler) take(b []byte) (part, rest []byte) {
	n, rest := f.uvarint(b)
	if n > uint64(len(rest)) {
		f.odd = true
		return nil, nil
	}
	return rest[:n], rest[n:]
}

// fill is a fill: it gets the message b into v.
func (p *structPlan) fill(f *filler, v reflect.Value, b []byte, _ uint64) {
	var seen uint64
	for len(b) > 0 && !f.odd && f.sum <= codec.MaxDecoded {
		var tag uint64
		from := b
		tag, b = f.uvarint(b)
		number := tag >> 3
		if number >= uint64(len(p.fields)) || p.fields[number] == nil {
			b = f.skip(b, int(tag&7), number)
			continue
		}
		field := p.fields[number]
		if seen&field.bit != 0 || int(tag&7) != field.wire {
			f.odd = true
			return
		}
		seen |= field.bit
		b = field.read(f, v, from, b)
	}
	for _, field := range p.always {
		if seen&field.bit == 0 {
			field.fill(f, field.of(v), nil, 0)
		}
	}
}

// of returns the Go field in v.
func (p *fieldPlan) of(v reflect.Value) reflect.Value {
	switch len(p.path) {
	case 0:
		return v
	case 1:
		return v.Field(p.path[0])
	}
	return v.FieldByIndex(p.path)
}

// read reads the value at b, or all values from the one whose tag is at from. It
// returns what is behind them.
func (p *fieldPlan) read(f *filler, v reflect.Value, from, b []byte) []byte {
	if p.run != nil {
		n, rest := f.count(from, b, p.wire)
		if !f.odd {
			p.run(f, p.of(v), from, n)
		}
		return rest
	}
	var (
		part []byte
		n    uint64
	)
	switch p.wire {
	case protojson.Varint:
		n, b = f.uvarint(b)
	case protojson.Bytes:
		part, b = f.take(b)
	default:
		w := protojson.Wire(b)
		var err error
		n, err = w.Fixed64()
		f.odd = f.odd || err != nil
		b = w
	}
	if f.odd || p.empty && n == 0 && len(part) == 0 {
		return b
	}
	p.fill(f, p.of(v), part, n)
	return b
}

// skip returns what is behind a value that nobody wants.
func (f *filler) skip(b []byte, typ int, number uint64) []byte {
	if number == 0 {
		f.odd = true
	}
	switch typ {
	case protojson.Varint:
		_, b = f.uvarint(b)
		return b
	case protojson.Bytes:
		_, b = f.take(b)
		return b
	}
	w := protojson.Wire(b)
	if w.Skip(typ) != nil {
		f.odd = true
	}
	return w
}

// count returns how many values in a row have the tag that is at from, the first of
// them at b, and what is behind them.
func (f *filler) count(from, b []byte, wire int) (n int, rest []byte) {
	tag := from[:len(from)-len(b)]
	for {
		n++
		b = f.skip(b, wire, 1)
		if f.odd || len(b) < len(tag) || string(b[:len(tag)]) != string(tag) {
			return n, b
		}
		b = b[len(tag):]
	}
}

// next returns the next value of a run, and the run behind it. The run was counted.
func (f *filler) next(run []byte, wire int) (part []byte, n uint64, rest []byte) {
	_, run = f.uvarint(run) // the tag
	switch wire {
	case protojson.Bytes:
		part, rest = f.take(run)
	case protojson.Varint:
		n, rest = f.uvarint(run)
	default:
		w := protojson.Wire(run)
		n, _ = w.Fixed64()
		rest = w
	}
	return part, n, rest
}

// listRun fills a slice with what elem fills. It is made as long as it will be, so
// that no element moves after later has noted where it is.
func listRun(elem fill, wire, size int) func(*filler, reflect.Value, []byte, int) {
	return func(f *filler, v reflect.Value, run []byte, n int) {
		if !f.weigh(n * size) {
			return
		}
		v.Grow(n)
		v.SetLen(n)
		var (
			part []byte
			num  uint64
		)
		for i := range n {
			if f.odd {
				return
			}
			part, num, run = f.next(run, wire)
			elem(f, v.Index(i), part, num)
		}
	}
}

// pointerFill fills a pointer to what elem fills. Of times, zero is null.
func pointerFill(t reflect.Type, elem fill, null bool) fill {
	size := int(t.Size())
	return func(f *filler, v reflect.Value, b []byte, n uint64) {
		if null && len(b) == 0 || !f.weigh(size) {
			return
		}
		v.Set(reflect.New(t))
		elem(f, v.Elem(), b, n)
	}
}

// entry reads an entry of a map.
func (f *filler) entry(b []byte, wire int) (key, part []byte, n uint64) {
	var seen uint64
	for len(b) > 0 && !f.odd {
		var tag uint64
		tag, b = f.uvarint(b)
		if seen&(1<<(tag>>3)) != 0 {
			f.odd = true
		}
		seen |= 1 << (tag >> 3)
		switch {
		case tag == 1<<3|protojson.Bytes:
			key, b = f.take(b)
		case tag == 2<<3|uint64(wire):
			switch wire {
			case protojson.Bytes:
				part, b = f.take(b)
			case protojson.Varint:
				n, b = f.uvarint(b)
			default:
				f.odd = true
			}
		default:
			f.odd = true
		}
	}
	return key, part, n
}

// mapRun fills a map of type t with values that elem fills.
func mapRun(elem fill, wire int, t reflect.Type) func(*filler, reflect.Value, []byte, int) {
	size := 16 + int(t.Elem().Size())
	return func(f *filler, v reflect.Value, run []byte, n int) {
		if !f.weighMap(n, size) {
			return
		}
		m := reflect.MakeMapWithSize(t, n)
		v.Set(m)
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem() // which the map copies
		for range n {
			var part []byte
			part, _, run = f.next(run, protojson.Bytes)
			k, part, num := f.entry(part, wire)
			key.SetZero()
			value.SetZero()
			f.string(key, k, 0)
			elem(f, value, part, num)
			if f.deal(); f.odd {
				return
			}
			m.SetMapIndex(key, value)
		}
	}
}

// weighMap adds what a map of n entries takes, without what they refer to.
func (f *filler) weighMap(n, entry int) bool {
	return f.weigh(mapHead + max(mapGroup, 2*n)*entry)
}

// stringMap fills a map of strings to strings.
func (f *filler) stringMap(v reflect.Value, run []byte, n int) {
	if !f.weighMap(n, 32) {
		return
	}
	from := len(f.parts)
	for range n {
		var part []byte
		part, _, run = f.next(run, protojson.Bytes)
		key, value, _ := f.entry(part, protojson.Bytes)
		if f.odd {
			return
		}
		f.part(key)
		f.part(value)
		if len(f.parts) >= most || len(f.text) >= shared {
			f.later = append(f.later, filled{v, from, len(f.parts)})
			f.deal()
			from = 0
		}
	}
	f.later = append(f.later, filled{v, from, len(f.parts)})
}

// string fills a string.
func (f *filler) string(v reflect.Value, b []byte, _ uint64) {
	if len(b) == 0 {
		return
	}
	if len(f.parts) >= most || len(f.text)+len(b) > shared {
		f.deal()
	}
	f.part(b)
	f.later = append(f.later, filled{v, len(f.parts) - 1, len(f.parts)})
}

// part adds a string. A byte that is no UTF-8 becomes U+FFFD, as in the JSON of a
// server.
func (f *filler) part(b []byte) {
	if len(b) > short {
		f.parts = append(f.parts, part{own: text(b)})
		return
	}
	lo := len(f.text)
	if utf8.Valid(b) {
		f.text = append(f.text, b...)
	} else {
		f.text = append(f.text, text(b)...)
	}
	f.parts = append(f.parts, part{lo: lo, hi: len(f.text)})
}

// text returns b as a string of its own.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// deal gives everybody their strings.
func (f *filler) deal() {
	if len(f.later) == 0 {
		return
	}
	text := string(f.text)
	of := func(p part) string {
		if p.own != "" {
			return p.own
		}
		return text[p.lo:p.hi]
	}
	for _, l := range f.later {
		if l.v.Kind() == reflect.String {
			l.v.SetString(of(f.parts[l.from]))
			continue
		}
		m := l.v.Addr().Interface().(*map[string]string)
		if *m == nil {
			*m = make(map[string]string, (l.to-l.from)/2)
		}
		for i := l.from; i < l.to; i += 2 {
			(*m)[of(f.parts[i])] = of(f.parts[i+1])
		}
	}
	clear(f.parts)
	clear(f.later)
	f.text, f.parts, f.later = f.text[:0], f.parts[:0], f.later[:0]
}

func (f *filler) bool(v reflect.Value, _ []byte, n uint64) { v.SetBool(n != 0) }

func (f *filler) float(v reflect.Value, _ []byte, n uint64) {
	x := math.Float64frombits(n)
	f.odd = f.odd || math.IsNaN(x) || math.IsInf(x, 0)
	v.SetFloat(x)
}

// bytes fills a []byte with a copy.
func (f *filler) bytes(v reflect.Value, b []byte, _ uint64) {
	v.SetBytes(append(make([]byte, 0, len(b)), b...))
}

// base64 fills a string with what the JSON of bytes is.
func (f *filler) base64(v reflect.Value, b []byte, _ uint64) {
	v.SetString(base64.StdEncoding.EncodeToString(b))
}

// quantity fills a string with a Quantity.
func (f *filler) quantity(v reflect.Value, b []byte, n uint64) {
	s, err := protojson.Part(b, 1)
	f.odd = f.odd || err != nil || len(s) == 0
	f.string(v, s, n)
}

func intFill(narrow bool) fill {
	return func(f *filler, v reflect.Value, _ []byte, n uint64) {
		x := int64(n)
		if narrow {
			x = int64(int32(x))
		}
		f.odd = f.odd || v.OverflowInt(x)
		v.SetInt(x)
	}
}

func uintFill(narrow bool) fill {
	return func(f *filler, v reflect.Value, _ []byte, n uint64) {
		x := int64(n)
		if narrow {
			x = int64(int32(x))
		}
		f.odd = f.odd || x < 0 || v.OverflowUint(uint64(x))
		v.SetUint(uint64(x))
	}
}
