package protobuf

import (
	"reflect"
	"sync"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
)

// A fastDecoder decodes a value from the wire. It supports the encoding of
// kube-apiserver. Anything unusual, such as a message in pieces, a list that is not in
// one place, or a number that does not fit, sets odd; then its work is discarded, and
// the object is converted to JSON and decoded by package codec.
type fastDecoder struct {
	odd   bool
	sum   int64    // estimated memory of the value in bytes
	text  []byte   // the decoded strings that share one allocation
	parts []part   // the strings
	later []filled // their destinations
}

// A part is a string: text[lo:hi], or one with its own allocation.
type part struct {
	lo, hi int
	own    string
}

// filled is a string or map to set, and its parts.
type filled struct {
	v        reflect.Value
	from, to int
}

const (
	// Strings of at most short bytes share an allocation of at most shared bytes:
	// keeping one of them keeps the others in memory, but no long annotation.
	short      = 256
	shared     = 4 << 10
	maxStrings = 1 << 10 // strings that wait for their allocation

	chunk = 32 << 10 // a larger buffer is not reused

	mapHead  = 64 // bytes of a map without entries
	mapGroup = 8  // entries that the first group has room for
)

// fastDecoders are reused, to keep their buffers.
var fastDecoders = sync.Pool{New: func() any { return new(fastDecoder) }}

func (f *fastDecoder) free() {
	if f.clear(); cap(f.text) <= chunk {
		fastDecoders.Put(f)
	}
}

// clear resets f, so that it refers to no decoded value.
func (f *fastDecoder) clear() {
	clear(f.parts)
	clear(f.later)
	*f = fastDecoder{text: f.text[:0], parts: f.parts[:0], later: f.later[:0]}
}

// weigh adds the memory of n values of size bytes, and reports false if the value takes
// too much.
func (f *fastDecoder) weigh(n, size int) bool {
	f.sum += int64(n) * int64(size)
	return f.sum <= codec.MaxDecoded
}

// uvarint reads a number, or sets odd.
func (f *fastDecoder) uvarint(b []byte) (uint64, []byte) {
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

// take reads a length and that many bytes.
func (f *fastDecoder) take(b []byte) (part, rest []byte) {
	n, rest := f.uvarint(b)
	if n > uint64(len(rest)) {
		f.odd = true
		return nil, nil
	}
	return rest[:n], rest[n:]
}

// fill decodes the message b into v.
func (p *structPlan) fill(f *fastDecoder, v reflect.Value, b []byte, _ uint64) {
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

// read reads the value at b, or all values from the tag at from on. It returns the
// bytes after them.
func (p *fieldPlan) read(f *fastDecoder, v reflect.Value, from, b []byte) []byte {
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

// skip returns the bytes after a value that v has no field for.
func (f *fastDecoder) skip(b []byte, typ int, number uint64) []byte {
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

// count returns how many consecutive values have the tag at from, the first of them at
// b, and the bytes after them.
func (f *fastDecoder) count(from, b []byte, wire int) (n int, rest []byte) {
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

// next returns the next value of a run, and the rest of the run, which was counted.
func (f *fastDecoder) next(run []byte, wire int) (part []byte, n uint64, rest []byte) {
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
