package protobuf

import (
	"reflect"
	"sync"

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

// take reads the length of what follows, and that.
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
