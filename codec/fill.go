package codec

import (
	"bytes"
	"reflect"
	"sync"
	"time"
)

// A filler fills a value in the same pass that checks the grammar, without
// json-iterator, which takes several times as long. It takes what servers send.
// Whatever is unusual, a member that occurs twice, a fraction, a string for a
// number, is an error to it; then nothing that it did counts, and json-iterator
// is asked, which knows what is to become of it.
type filler struct {
	projector
	text  []byte   // what the strings that share one allocation mean, one behind the other
	parts []part   // the strings, in the order of the JSON
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
	// Strings of at most short bytes share one allocation of at most shared:
	// whoever keeps a name keeps its neighbours alive, but no long annotation.
	short  = 256
	shared = 4 << 10
	// most is how many strings, and how many owners of them, a filler notes
	// before it leaves the object to json-iterator: a note is many times as large
	// as an empty string.
	most = 1 << 12
)

// fillers are used again for what they have grown.
var fillers = sync.Pool{New: func() any { return new(filler) }}

func (f *filler) free() {
	if f.clear(); cap(f.out) <= chunk && cap(f.text) <= chunk {
		fillers.Put(f)
	}
}

// clear makes f as good as new; nothing in it refers to what it filled.
func (f *filler) clear() {
	clear(f.parts)
	clear(f.later)
	*f = filler{projector: projector{out: f.out[:0]}, text: f.text[:0], parts: f.parts[:0], later: f.later[:0]}
}

// root fills the fields of v that have plans from the object b. It returns what
// is left for json-iterator, cut to what v can hold, nil if nothing is. If it does
// not succeed, it may have filled some of v.
func (f *filler) root(b []byte, v reflect.Value, to *target) (rest []byte, ok bool) {
	f.parser = parser{b: b}
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var seen uint64
	kept := false
	last := 0 // end of the member before
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
	f.deal()
	if kept {
		rest = f.result()
	}
	return rest, true
}

// field fills a field of v, which must be the first time.
func (f *filler) field(v reflect.Value, field fieldPlan, seen *uint64) {
	if bit := uint64(1) << field.index; *seen&bit == 0 {
		*seen |= bit
		field.fill(f, v.Field(field.index))
		return
	}
	f.fail("a member twice")
}

// structPlan is the plan of a struct.
func structPlan(fields plans) plan {
	return func(f *filler, v reflect.Value) {
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

// pointerPlan is the plan of a pointer to what elem fills.
func pointerPlan(elem plan) plan {
	return func(f *filler, v reflect.Value) {
		if f.null() || f.err != nil {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		elem(f, v.Elem())
	}
}

// slicePlan is the plan of a slice of what elem fills. The elements are counted
// first, so that none moves after later has noted where it is.
func slicePlan(elem plan) plan {
	return func(f *filler, v reflect.Value) {
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

// string fills a string.
func (f *filler) string(v reflect.Value) {
	if f.null() {
		return
	}
	n := len(f.parts)
	f.take()
	f.owe(v, n)
}

// stringMap fills a map of strings to strings.
func (f *filler) stringMap(v reflect.Value) {
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
	f.owe(v, n)
}

// owe notes that v gets the parts from a number on.
func (f *filler) owe(v reflect.Value, from int) {
	if f.later = append(f.later, filled{v, from, len(f.parts)}); len(f.later) > most {
		f.fail("many strings")
	}
}

// take consumes a string and makes it a part.
func (f *filler) take() {
	s := f.str()
	in := s.of(f.b)
	lo := len(f.text)
	if s.escaped {
		if bytes.Contains(in, []byte(`\ud`)) || bytes.Contains(in, []byte(`\uD`)) {
			f.fail("a surrogate") // json-iterator has its own mind about a half
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
	if f.parts = append(f.parts, p); len(f.parts) > most {
		f.fail("many strings")
	}
}

// deal gives everybody their strings.
func (f *filler) deal() {
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

// bool fills a bool.
func (f *filler) bool(v reflect.Value) {
	switch {
	case f.err != nil || f.null():
	case f.peek() == 't':
		f.literal("true")
		v.SetBool(true)
	default:
		f.literal("false")
	}
}

// int fills an integer of less than 19 digits.
func (f *filler) int(v reflect.Value) {
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

// time fills a time, from bytes that its method for JSON would be given without
// their quotes.
func (f *filler) time(v reflect.Value) {
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
