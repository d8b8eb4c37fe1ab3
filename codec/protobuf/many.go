package protobuf

import (
	"reflect"

	"github.com/listwatch/listwatch/internal/protojson"
)

// listRun decodes a slice whose elements elem decodes. It is allocated in its final
// length, so that no element moves after its address was stored.
func listRun(elem fill, wire, size int) func(*fastDecoder, reflect.Value, []byte, int) {
	return func(f *fastDecoder, v reflect.Value, run []byte, n int) {
		if !f.weigh(n, size) {
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

// pointerFill decodes a pointer to a value that elem decodes. If null is set (times),
// no bytes are null.
func pointerFill(t reflect.Type, elem fill, null bool) fill {
	size := int(t.Size())
	return func(f *fastDecoder, v reflect.Value, b []byte, n uint64) {
		if null && len(b) == 0 || !f.weigh(1, size) {
			return
		}
		v.Set(reflect.New(t))
		elem(f, v.Elem(), b, n)
	}
}

// entry reads an entry of a map.
func (f *fastDecoder) entry(b []byte, wire int) (key, part []byte, n uint64) {
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

// mapRun decodes a map of type t whose values elem decodes.
func mapRun(elem fill, wire int, t reflect.Type) func(*fastDecoder, reflect.Value, []byte, int) {
	size := 16 + int(t.Elem().Size())
	return func(f *fastDecoder, v reflect.Value, run []byte, n int) {
		if !f.weighMap(n, size) {
			return
		}
		m := reflect.MakeMapWithSize(t, n)
		v.Set(m)
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem() // the map copies them
		for range n {
			var part []byte
			part, _, run = f.next(run, protojson.Bytes)
			k, part, num := f.entry(part, wire)
			key.SetZero()
			value.SetZero()
			f.string(key, k, 0)
			elem(f, value, part, num)
			if f.assignStrings(); f.odd {
				return
			}
			m.SetMapIndex(key, value)
		}
	}
}

// weighMap adds the memory of a map of n entries, without what they refer to.
func (f *fastDecoder) weighMap(n, entry int) bool {
	return f.weigh(1, mapHead) && f.weigh(max(mapGroup, 2*n), entry)
}

// stringMap decodes a map of strings.
func (f *fastDecoder) stringMap(v reflect.Value, run []byte, n int) {
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
		if len(f.parts) >= maxStrings || len(f.text) >= shared {
			f.later = append(f.later, filled{v, from, len(f.parts)})
			f.assignStrings()
			from = 0
		}
	}
	f.later = append(f.later, filled{v, from, len(f.parts)})
}
