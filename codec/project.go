package codec

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// A shape is what of a JSON value a Go type can hold. Members it has no place
// for are cut away before a decoder sees them: skipping a member costs json-iterator an
// allocation for every key inside, and a small struct uses a tenth of an
// object. Names are exact, so that encoding/json, which ignores letter case, finds
// no others.
type shape struct {
	all    bool              // the value as it is
	fields map[string]*shape // of an object: the members to keep
	elem   *shape            // of what is in an array, or in an object that has no fields
}

var whole = &shape{all: true}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) *shape { return newShape(t, map[reflect.Type]*shape{}) }

// newShape makes the shape of t; begun holds those of the structs around it,
// for types that contain themselves.
func newShape(t reflect.Type, begun map[reflect.Type]*shape) *shape {
	if ownMethods(t) {
		return whole
	}
	switch t.Kind() {
	case reflect.Pointer:
		return newShape(t.Elem(), begun)
	case reflect.Slice, reflect.Array, reflect.Map:
		if elem := newShape(t.Elem(), begun); !elem.all {
			return &shape{elem: elem}
		}
	case reflect.Struct:
		if s := begun[t]; s != nil {
			return s
		}
		s := &shape{fields: map[string]*shape{}}
		begun[t] = s
		fields, _ := fieldsOf(t)
		for _, f := range fields {
			s.fields[f.name] = newShape(f.typ, begun)
		}
		return s
	}
	return whole
}

// A projector walks over a JSON text, checks its grammar and copies it without
// what a shape has no place for.
type projector struct {
	parser
	out  []byte
	from int // what is before has been copied or cut
}

// cut leaves out b[lo:hi].
func (p *projector) cut(lo, hi int) {
	p.out = append(p.out, p.b[p.from:lo]...)
	p.from = hi
}

// result is the text without what was cut: the text itself if nothing was.
func (p *projector) result() []byte {
	if p.from == 0 {
		return p.b
	}
	p.cut(len(p.b), len(p.b))
	return p.out
}

// value consumes one value.
func (p *projector) value(s *shape) {
	switch c := p.peek(); {
	case c == '{' && s.fields != nil:
		p.object(s)
	case c == '{' && s.elem != nil:
		for more := p.enter('{'); more; more = p.next('}') {
			p.key()
			p.value(s.elem)
		}
	case c == '[' && s.elem != nil:
		for more := p.enter('['); more; more = p.next(']') {
			p.value(s.elem)
		}
	default:
		p.skip()
	}
}

// object consumes an object that fills a struct.
func (p *projector) object(s *shape) {
	kept := false
	last := 0 // end of the member before
	for more := p.enter('{'); more; more = p.next('}') {
		p.peek()
		start := p.i
		if field := s.fields[string(p.key())]; field != nil {
			p.value(field)
			kept = true
		} else {
			p.skip()
			p.drop(start, last, kept)
		}
		last = p.i
	}
}

// drop cuts the member from start to here, with one comma if others are around
// it: that behind the member before, which ended at last, if one was kept.
func (p *projector) drop(start, last int, kept bool) {
	switch {
	case kept:
		p.cut(last, p.i)
	case p.peek() == ',':
		p.cut(start, p.i+1)
	default:
		p.cut(start, p.i)
	}
}

// Known returns object without the members that T has no field for, so that a caller
// can tell what a T does not hold. Of a type with JSON methods of its own, and of one
// that keeps the bytes, every member counts as known. The result may alias object.
func Known[T any](object []byte) ([]byte, error) {
	var zero T
	if _, ok := any(zero).(interface{ FromRaw(Raw) T }); ok {
		return object, nil
	}
	p := projector{parser: parser{b: object}}
	p.value(targetOf(reflect.TypeFor[T]()).shape)
	if p.end(); p.err != nil {
		return nil, p.err
	}
	return p.result(), nil
}
