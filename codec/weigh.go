package codec

import (
	"encoding/json"
	"reflect"
)

const (
	// MaxDecoded limits the estimated memory of a decoded object, in bytes: the three
	// bytes `{},` decode to a struct of any size.
	MaxDecoded = 64 << 20

	weighFrom = 32 << 10 // bytes of JSON; smaller objects take less than MaxDecoded
	slot      = 16       // bytes of an interface or a string, without what it refers to
	boxed     = 32       // bytes of what an interface refers to
	mapHead   = 64       // bytes of a map without entries
	mapGroup  = 8        // entries that a map has room for with the first
)

// A weight is how many bytes of memory decoded JSON takes as a Go type.
type weight struct {
	own    int                // bytes of a value of the type, without what it refers to
	refers bool               // a value is behind a pointer, which takes own
	fields map[string]*weight // of a struct
	elem   *weight            // of a slice, an array or a map, or of what a pointer points to
	free   bool               // an interface, or a type with its own methods
	text   bool               // a json.RawMessage, which keeps the text
}

// weightOf returns the weight of t; begun holds those of other types.
func weightOf(t reflect.Type, begun map[reflect.Type]*weight) *weight {
	if w := begun[t]; w != nil {
		return w
	}
	w := &weight{own: int(t.Size())}
	begun[t] = w
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[json.RawMessage]():
		w.text = true
	case ownMethods(t), kind == reflect.Interface:
		w.free = true
	case kind == reflect.Pointer:
		w.refers, w.elem = true, weightOf(t.Elem(), begun)
	case kind == reflect.Slice, kind == reflect.Array, kind == reflect.Map:
		w.elem = weightOf(t.Elem(), begun)
	case kind == reflect.Struct:
		w.fields = map[string]*weight{}
		fields, _ := fieldsOf(t)
		for _, f := range fields {
			w.fields[f.name] = weightOf(f.typ, begun)
		}
	}
	return w
}

// A weigher reads a JSON text and adds up the memory.
type weigher struct {
	parser
	sum int
}

// heavy reports whether b would take more than MaxDecoded.
func heavy(b []byte, w *weight) bool {
	s := weigher{parser: parser{b: b}}
	s.value(w)
	return s.sum > MaxDecoded
}

// value adds the memory that the next value refers to; w is nil if it is not decoded.
func (s *weigher) value(w *weight) {
	for w != nil && w.refers {
		s.sum += w.elem.own
		w = w.elem
	}
	if s.sum > MaxDecoded {
		s.fail("too heavy") // stop here
	}
	c := s.peek()
	switch {
	case s.err != nil:
	case w == nil:
		s.skip()
	case w.text:
		from := s.i
		s.skip()
		s.sum += s.i - from
	case c == '{':
		s.sum += mapHead
		n := 0
		for more := s.enter('{'); more; more = s.next('}') {
			key := s.key()
			switch {
			case w.free:
				s.sum += boxed
				s.entry(n, slot, key)
				s.value(w)
			case w.elem != nil:
				s.entry(n, w.elem.own, key)
				s.value(w.elem)
			default:
				s.value(w.fields[string(key)])
			}
			n++
		}
	case c == '[':
		for more := s.enter('['); more; more = s.next(']') {
			switch {
			case w.free:
				s.sum += slot + boxed
				s.value(w)
			case w.elem != nil:
				s.sum += w.elem.own
				s.value(w.elem)
			default:
				s.skip()
			}
		}
	default:
		from := s.i
		s.skip()
		s.sum += s.i - from
	}
}

// entry adds the n-th entry of a map, whose value takes size bytes.
func (s *weigher) entry(n, size int, key []byte) {
	switch {
	case n == 0:
		s.sum += mapGroup * (slot + size)
	case n >= mapGroup:
		s.sum += 2 * (slot + size) // a map grows by doubling
	}
	s.sum += len(key)
}
