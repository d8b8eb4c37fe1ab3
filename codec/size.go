package codec

import (
	"reflect"
	"time"
)

// SizerOf returns a function that estimates the memory of a value in bytes: its own,
// and that of everything that its strings, slices, maps, pointers and interfaces refer
// to. Memory with two references counts twice. If a value has a method MemorySize()
// int, as Raw has, the method's result is used for everything that it refers to, unless
// its type is a struct with the method of an embedded field: such a struct has other
// fields too.
//
// It uses reflection and takes some microseconds. It is safe for concurrent use; the
// value must not change meanwhile.
func SizerOf[T any]() func(T) int {
	own := int(reflect.TypeFor[T]().Size())
	if knowsSize(reflect.TypeFor[T]()) {
		return func(v T) int { return own + any(v).(sized).MemorySize() }
	}
	return func(v T) int { return own + referred(reflect.ValueOf(&v).Elem(), maxSizeDepth) }
}

// sized is not Size() int: the types of k8s.io/api have that method, and it returns the
// length of their protobuf, a tenth of their memory.
type sized interface{ MemorySize() int }

// knowsSize reports whether t has its own MemorySize.
func knowsSize(t reflect.Type) bool {
	if !t.Implements(reflect.TypeFor[sized]()) {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range numField(t) {
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(reflect.TypeFor[sized]()) || reflect.PointerTo(f.Type).Implements(reflect.TypeFor[sized]())) {
			return false
		}
	}
	return true
}

// numField returns how many fields a struct has; 0 for other types.
func numField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return 0
	}
	return t.NumField()
}

const (
	maxSizeDepth = 64 // for values that refer to themselves
	mapEntry     = 10 // bytes of a map per entry besides key and value, at the usual load
)

// referred returns the size of what v refers to, without v itself.
func referred(v reflect.Value, depth int) int {
	if depth == 0 {
		return 0
	}
	depth--
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() { // all times share it
			return int(v.Type().Elem().Size()) + referred(v.Elem(), depth)
		}
	case reflect.Interface:
		if !v.IsNil() {
			return int(v.Elem().Type().Size()) + referred(v.Elem(), depth)
		}
	case reflect.Slice:
		n := v.Cap() * int(v.Type().Elem().Size())
		return n + referredByAll(v, depth)
	case reflect.Array:
		return referredByAll(v, depth)
	case reflect.Map:
		if v.IsNil() {
			return 0
		}
		entry := int(v.Type().Key().Size()) + int(v.Type().Elem().Size()) + mapEntry
		n := 48 + v.Len()*entry
		for each := v.MapRange(); each.Next(); {
			n += referred(each.Key(), depth) + referred(each.Value(), depth)
		}
		return n
	case reflect.Struct:
		if v.CanInterface() && knowsSize(v.Type()) {
			return v.Interface().(sized).MemorySize()
		}
		n := 0
		for i := range v.NumField() {
			n += referred(v.Field(i), depth)
		}
		return n
	}
	return 0
}

// referredByAll returns the size of what the elements of v refer to.
func referredByAll(v reflect.Value, depth int) int {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		n := 0
		for i := range v.Len() {
			n += referred(v.Index(i), depth)
		}
		return n
	}
	return 0 // numbers
}
