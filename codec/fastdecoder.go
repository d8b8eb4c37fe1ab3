package codec

import (
	"bytes"
	"reflect"
	"sync"
	"time"
)

// A fastDecoder decodes a value in the pass that checks the grammar, several times
// faster than json-iterator. It supports the JSON that servers send. Anything unusual,
// such as a member that occurs twice, a fraction, or a string instead of a number,
// makes it fail; then its work is discarded and json-iterator decodes the object.
type fastDecoder struct {
	projector
	text  []byte   // the decoded strings that share one allocation
	parts []part   // the strings in the order of the JSON
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
	// Strings of at most short bytes share one allocation of at most shared bytes:
	// keeping one of them keeps the others in memory, but no long annotation.
	short  = 256
	shared = 4 << 10
	// maxStrings limits the strings, and their destinations, for which a fastDecoder
	// decodes an object: an entry takes many times the memory of an empty string.
	maxStrings = 1 << 12
)

// fastDecoders are reused, to keep their buffers.
var fastDecoders = sync.Pool{New: func() any { return new(fastDecoder) }}

func (f *fastDecoder) free() {
	if f.clear(); cap(f.out) <= chunk && cap(f.text) <= chunk {
		fastDecoders.Put(f)
	}
}

// clear resets f, so that it refers to no decoded value.
func (f *fastDecoder) clear() {
	clear(f.parts)
	clear(f.later)
	*f = fastDecoder{projector: projector{out: f.out[:0]}, text: f.text[:0], parts: f.parts[:0], later: f.later[:0]}
}

// root decodes the fields of v that have plans from the object b. rest is what remains
// for json-iterator, with only the members that v has fields for; nil = nothing. If ok
// is false, some fields of v may be set.
func (f *fastDecoder) root(b []byte, v reflect.Value, to *target) (rest []byte, ok bool) {
	f.parser = parser{b: b}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var seen uint64
	kept := false
	last := 0 // end of the previous member
	for more := f.enter('{'); more; more = f.next('}') {
		f.peek()
		start := f.i
		key := f.key()
		if field, ok := to.fields[string(key)]; ok {
			f.field(v, field, &seen)
			f.drop(start, last, kept)
		} else if inner := to.shape.fields[string(key)]; inner != nil {
			f.value(inner)
			kept = true
		} else {
			f.skip()
			f.drop(start, last, kept)
		}
		last = f.i
	}
	f.end()
	if f.err != nil {
		return nil, false
	}
	f.assignStrings()
	if kept {
		rest = f.result()
	}
	return rest, true
}

// field decodes a field of v, and fails the second time.
func (f *fastDecoder) field(v reflect.Value, field fieldPlan, seen *uint64) {
	if bit := uint64(1) << field.index; *seen&bit == 0 {
		*seen |= bit
		field.fill(f, v.Field(field.index))
		return
	}
	f.fail("a member twice")
}

// structPlan returns the plan of a struct.
func structPlan(fields plans) plan {
	return func(f *fastDecoder, v reflect.Value) {
		if f.null() {
			return
		}
		var seen uint64
		for more := f.enter('{'); more; more = f.next('}') {
			if field, ok := fields[string(f.key())]; ok {
				f.field(v, field, &seen)
			} else {
				f.skip()
			}
		}
	}
}

// pointerPlan returns the plan of a pointer to a type with plan elem.
func pointerPlan(elem plan) plan {
	return func(f *fastDecoder, v reflect.Value) {
		if f.null() || f.err != nil {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		elem(f, v.Elem())
	}
}

// slicePlan returns the plan of a slice whose elements have plan elem. The elements are
// counted first, so that none moves after its address was stored.
func slicePlan(elem plan) plan {
	return func(f *fastDecoder, v reflect.Value) {
		if f.null() || f.err != nil {
			return
		}
		n := 0
		ahead := f.parser
		for more := ahead.enter('['); more; more = ahead.next(']') {
			ahead.skip()
			n++
		}
		if ahead.err != nil {
			f.err = ahead.err
			return
		}
		if n == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		} else {
			v.Grow(n)
			v.SetLen(n)
		}
		i := 0
		for more := f.enter('['); more; more = f.next(']') {
			elem(f, v.Index(i))
			i++
		}
	}
}

// string decodes a string.
func (f *fastDecoder) string(v reflect.Value) {
	if f.null() {
		return
	}
	n := len(f.parts)
	f.take()
	f.deferString(v, n)
}

// stringMap decodes a map of strings.
func (f *fastDecoder) stringMap(v reflect.Value) {
	if f.null() {
		return
	}
	n := len(f.parts)
	for more := f.enter('{'); more; more = f.next('}') {
		f.take()
		if f.peek() != ':' {
			f.fail("colon expected")
			return
		}
		f.i++
		f.take()
	}
	f.deferString(v, n)
}

// deferString sets v at the end, from the parts from a number on.
func (f *fastDecoder) deferString(v reflect.Value, from int) {
	if f.later = append(f.later, filled{v, from, len(f.parts)}); len(f.later) > maxStrings {
		f.fail("many strings")
	}
}

// take reads a string into parts.
func (f *fastDecoder) take() {
	s := f.str()
	in := s.of(f.b)
	lo := len(f.text)
	if s.escaped {
		if bytes.Contains(in, []byte(`\ud`)) || bytes.Contains(in, []byte(`\uD`)) {
			f.fail("a surrogate") // json-iterator may decode unpaired ones differently
			return
		}
		f.text = unescape(f.text, in)
	} else {
		f.text = append(f.text, in...)
	}
	p := part{lo: lo, hi: len(f.text)}
	if p.hi-p.lo > short || p.hi > shared {
		p = part{own: string(f.text[lo:])}
		f.text = f.text[:lo]
	}
	if f.parts = append(f.parts, p); len(f.parts) > maxStrings {
		f.fail("many strings")
	}
}

// assignStrings sets all deferred strings and maps.
func (f *fastDecoder) assignStrings() {
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
		m := make(map[string]string, (l.to-l.from)/2)
		for i := l.from; i < l.to; i += 2 {
			m[of(f.parts[i])] = of(f.parts[i+1])
		}
		l.v.Set(reflect.ValueOf(m))
	}
}

// bool decodes a bool.
func (f *fastDecoder) bool(v reflect.Value) {
	switch {
	case f.err != nil || f.null():
	case f.peek() == 't':
		f.literal("true")
		v.SetBool(true)
	default:
		f.literal("false")
	}
}

// int decodes an integer of less than 19 digits.
func (f *fastDecoder) int(v reflect.Value) {
	if f.err != nil || f.null() {
		return
	}
	f.peek()
	start := f.i
	f.number()
	digits := f.b[start:f.i]
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			f.fail("not an integer")
			return
		}
		n = 10*n + int64(c-'0')
	}
	if negative {
		n = -n
	}
	if len(digits) > 18 || v.OverflowInt(n) {
		f.fail("a large integer")
		return
	}
	v.SetInt(n)
}

// time decodes a time, from the bytes between the quotes, as its UnmarshalJSON would.
func (f *fastDecoder) time(v reflect.Value) {
	if f.null() {
		return
	}
	s := f.str()
	if f.err != nil {
		return
	}
	if err := v.Addr().Interface().(*time.Time).UnmarshalText(s.of(f.b)); err != nil {
		f.fail("not a time")
	}
}
