package codec

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// A shape describes the part of a JSON value that a Go type can hold. Other members are
// removed before decoding: skipping a member costs json-iterator an allocation for
// every key inside, and a small struct uses a tenth of an object. Names are exact, so
// that encoding/json, which ignores letter case, finds no others.
type shape struct {
	all    bool              // the whole value
	fields map[string]*shape // of an object: the members to keep
	elem   *shape            // of the elements of an array, or of the values of an object without fields
}

var whole = &shape{all: true}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func shapeOf(t reflect.Type) *shape { return newShape(t, map[reflect.Type]*shape{}) }

// newShape returns the shape of t; begun holds those of the structs around it, for
// recursive types.
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

// A projector reads a JSON text, checks its grammar and copies it without the members
// that a shape does not have.
type projector struct {
	parser
	out  []byte
	from int // everything before it was copied or removed
}

// cut removes b[lo:hi].
func (p *projector) cut(lo, hi int) {
	p.out = append(p.out, p.b[p.from:lo]...)
	p.from = hi
}

// result returns the text without the removed parts; b itself if nothing was removed.
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

// object consumes an object that is decoded into a struct.
func (p *projector) object(s *shape) {
	kept := false
	last := 0 // end of the previous member
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

// drop removes the member from start to here, with one comma: that after the previous
// member, which ended at last, if one was kept, else the following one.
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
// can find what a T does not hold. For a type with its own JSON methods, and for one
// that keeps the bytes, every member is known. The result may alias object.
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
