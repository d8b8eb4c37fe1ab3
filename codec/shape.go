package codec

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Shape names T and the shape of its JSON: "main.Pod 1f2e3d4c5b6a7988". Two
// types that differ in a field, its type or its tag have different names. It
// fails where what is written would not be what is read.
//
// Of a type with JSON methods of its own the name is all that counts.
func Shape[T any]() (string, error) {
	t := reflect.TypeFor[T]()
	d := jsonShape{begun: map[reflect.Type]bool{}}
	d.add(t, t.String())
	if d.err != nil {
		return "", d.err
	}
	sum := sha256.Sum256([]byte(d.out.String()))
	return fmt.Sprintf("%s %x", t, sum[:8]), nil
}

type jsonShape struct {
	out   strings.Builder
	begun map[reflect.Type]bool // structs, for types that contain themselves
	err   error                 // the first
}

// jsonMethods are the pairs of methods that replace the JSON of a type, in the
// order in which they count.
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
func (d *jsonShape) add(t reflect.Type, path string) {
	fmt.Fprintf(&d.out, "%s(%s.%s)", t.Kind(), t.PkgPath(), t.Name())
	if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer {
		p := reflect.PointerTo(t)
		for _, m := range jsonMethods {
			switch writes, reads := p.Implements(m[0]), p.Implements(m[1]); {
			case writes && reads:
				return
			case writes || reads:
				d.fail(path, fmt.Sprintf("has only one of %s and %s", m[0], m[1]))
				return
			}
		}
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Array {
			fmt.Fprint(&d.out, t.Len())
		}
		d.add(t.Elem(), path)
	case reflect.Map:
		d.add(t.Key(), path+" key")
		d.add(t.Elem(), path)
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

func (d *jsonShape) addFields(t reflect.Type, path string) {
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
		d.add(f.Type, where)
		d.out.WriteByte(';')
	}
	d.out.WriteByte('}')
}
