package protobuf

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/listwatch/listwatch/internal/protojson"
)

// wireOf returns the wire type of a field's values.
func wireOf(f *protojson.Field) int {
	if !f.Map {
		switch f.Type {
		case 'b', 'i', 'j':
			return protojson.Varint
		case 'd':
			return protojson.Fixed64
		}
	}
	return protojson.Bytes
}

// field completes fp, which decodes a Go field of type t from f. It reports false if
// that is possible only by JSON.
func (b *builder) field(fp *fieldPlan, t reflect.Type, f *protojson.Field) bool {
	switch {
	case f.Map:
		return t.Kind() == reflect.Map && !ownMethods(t) && b.dict(fp, t, f)
	case f.List:
		if t.Kind() != reflect.Slice || ownMethods(t) {
			return false
		}
		elem := b.value(t.Elem(), f)
		fp.run = listRun(elem, fp.wire, int(t.Elem().Size()))
		return elem != nil
	}
	fp.fill = b.value(t, f)
	fp.empty = f.OmitEmpty && !f.Pointer && isScalar(f)
	return fp.fill != nil
}

// isScalar reports whether encoding/json may treat a value of f as empty.
func isScalar(f *protojson.Field) bool {
	switch f.Type {
	case 'b', 'i', 'j', 'd', 's', 'y':
		return true
	}
	return false
}

// needed reports whether a Go field of type t must be set although the wire has no f:
// the JSON has such a member, and t shows it. Kubernetes' own encoder writes all such
// fields.
func (b *builder) needed(t reflect.Type, f *protojson.Field) bool {
	switch {
	case f.List, f.Map, f.Pointer, f.OmitZero, f.OmitEmpty && isScalar(f):
		return false
	}
	switch f.Type {
	case 'y', 'r', 't', 'm': // null
		return false
	case protojson.IsMessage:
		if t.Kind() == reflect.Struct && !ownMethods(t) {
			inner := b.message(t, f.Message())
			return inner != nil && len(inner.always) > 0
		}
		return true
	case 'p', 'q', 'n':
		return true
	}
	return t.Kind() == reflect.Pointer || ownMethods(t)
}

// dict completes fp for a map of type t.
func (b *builder) dict(fp *fieldPlan, t reflect.Type, f *protojson.Field) bool {
	if t.Key().Kind() != reflect.String || ownMethods(t.Key()) {
		return false
	}
	if t == reflect.TypeFor[map[string]string]() && f.Type == 's' {
		fp.run = (*fastDecoder).stringMap
		return true
	}
	elem := *f
	elem.Map = false
	value := b.value(t.Elem(), &elem)
	fp.run = mapRun(value, wireOf(&elem), t)
	return value != nil
}

// value returns the fill of a t from one value of f, or from one element of it; nil if
// that is possible only by JSON.
func (b *builder) value(t reflect.Type, f *protojson.Field) fill {
	if t.Kind() != reflect.Pointer {
		return b.plain(t, f)
	}
	elem := t.Elem()
	inner := b.plain(elem, f)
	switch {
	case elem.Kind() == reflect.Pointer || inner == nil:
		return nil
	case ownMethods(elem) && elem != reflect.TypeFor[time.Time]():
		return ownPointerFill(elem, f)
	}
	return pointerFill(elem, inner, f.Type == 't' || f.Type == 'm')
}

// plain is value for a t that is not a pointer.
func (b *builder) plain(t reflect.Type, f *protojson.Field) fill {
	switch {
	case t == reflect.TypeFor[time.Time]():
		switch f.Type {
		case 't':
			return timeFill(false)
		case 'm':
			return timeFill(true)
		}
		return nil
	case ownMethods(t):
		if f.Type == protojson.IsMessage || !reflect.PointerTo(t).Implements(jsonUnmarshaler) {
			return nil // it may read members that the table does not know yet
		}
		return ownFill(t, f)
	case f.Type == protojson.IsMessage:
		if t.Kind() != reflect.Struct {
			return nil
		}
		if p := b.message(t, f.Message()); p != nil {
			return p.fill
		}
		return nil
	}
	return byKind(t, f.Type)
}

// byKind is plain for strings, numbers, bools and bytes.
func byKind(t reflect.Type, letter byte) fill {
	number := letter == 'i' || letter == 'j'
	if t == reflect.TypeFor[json.Number]() {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		switch letter {
		case 's':
			return (*fastDecoder).string
		case 'q':
			return (*fastDecoder).quantity
		case 'y':
			return (*fastDecoder).base64
		}
	case reflect.Bool:
		if letter == 'b' {
			return (*fastDecoder).bool
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if number {
			return intFill(letter == 'j')
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if number {
			return uintFill(letter == 'j')
		}
	case reflect.Float64:
		if letter == 'd' {
			return (*fastDecoder).float
		}
	case reflect.Slice:
		if letter == 'y' && t.Elem() == reflect.TypeFor[byte]() {
			return (*fastDecoder).bytes
		}
	}
	return nil
}
