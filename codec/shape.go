package codec

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Shape returns a name of T and the shape of its JSON: "main.Pod 1f2e3d4c5b6a7988".
// Types that differ in a field, its type or its tag have different names. It fails if
// the encoding of a T would not be decoded to the same value.
//
// For a type with its own JSON methods only the name counts.
func Shape[T any]() (string, error) {
	t := reflect.TypeFor[T]()
	d := jsonShape{begun: map[place]bool{}}
	d.add(place{t, true}, t.String())
	if d.err != nil {
		return "", d.err
	}
	sum := sha256.Sum256([]byte(d.out.String()))
	return fmt.Sprintf("%s %x", t, sum[:8]), nil
}

type jsonShape struct {
	out   strings.Builder
	begun map[place]bool // structs, for recursive types
	err   error          // the first error
}

// place is a type and whether an encoder can address a value of it. Values in a map
// cannot be addressed, so the encoder does not call methods of a pointer there; the
// decoder does.
type place struct {
	reflect.Type
	addressable bool
}

// jsonMethods are the pairs of methods that replace the JSON of a type, in the order of
// their precedence.
var jsonMethods = [...][2]reflect.Type{
	{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()},
	{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()},
}

func (d *jsonShape) fail(path, why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s %s", path, why)
	}
}

// add describes t, which is found at path.
func (d *jsonShape) add(t place, path string) {
	fmt.Fprintf(&d.out, "%s(%s.%s)", t.Kind(), t.PkgPath(), t.Name())
	if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer {
		for _, m := range jsonMethods {
			switch writes, reads := t.implements(m[0]), reflect.PointerTo(t.Type).Implements(m[1]); {
			case writes && reads:
				return
			case reads && !t.addressable:
				d.fail(path, fmt.Sprintf("is in a map, where the encoder does not call its %s: declare the method on the value type", m[0]))
				return
			case writes || reads:
				d.fail(path, fmt.Sprintf("has only one of %s and %s", m[0], m[1]))
				return
			}
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		d.add(place{t.Elem(), true}, path)
	case reflect.Array:
		fmt.Fprint(&d.out, t.Len())
		d.add(place{t.Elem(), t.addressable}, path)
	case reflect.Map:
		d.addKey(t.Key(), path+" key")
		d.add(place{t.Elem(), false}, path)
	case reflect.Struct:
		d.addFields(t, path)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			d.fail(path, "is an interface")
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		d.fail(path, "is a "+t.Kind().String())
	}
}

// implements reports whether an encoder calls the methods of m.
func (t place) implements(m reflect.Type) bool {
	return t.Implements(m) || t.addressable && reflect.PointerTo(t.Type).Implements(m)
}

// addKey describes the type of a map's keys, which in JSON are strings.
func (d *jsonShape) addKey(t reflect.Type, path string) {
	fmt.Fprintf(&d.out, "%s(%s.%s)", t.Kind(), t.PkgPath(), t.Name())
	text := jsonMethods[1]
	reads := reflect.PointerTo(t).Implements(text[1])
	switch writes := t.Implements(text[0]) && t.Kind() != reflect.String; { // it is not called for a string
	case writes && reads:
	case writes || reads:
		d.fail(path, fmt.Sprintf("has only one of %s and %s that encoding/json calls", text[0], text[1]))
	case t.Kind() != reflect.String && (t.Kind() < reflect.Int || t.Kind() > reflect.Uintptr):
		d.fail(path, "is a "+t.Kind().String())
	}
}

func (d *jsonShape) addFields(t place, path string) {
	if d.begun[t] {
		return
	}
	d.begun[t] = true
	d.out.WriteByte('{')
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		where := path + "." + f.Name
		switch {
		case f.Type.Size() == 0:
			continue
		case tag == "-", !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct):
			d.fail(where, "is not part of the JSON")
			return
		}
		fmt.Fprintf(&d.out, "%s %q %v ", f.Name, tag, f.Anonymous)
		d.add(place{f.Type, t.addressable}, where)
		d.out.WriteByte(';')
	}
	d.out.WriteByte('}')
}
