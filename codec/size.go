package codec

import (
	"reflect"
	"time"
)

// SizerOf returns a function that estimates how many bytes of memory a value
// takes: itself, and all that its strings, slices, maps, pointers and interfaces
// refer to. What is referred to twice counts twice. Of a value with a method
// MemorySize() int, as that of Raw, what the method returns counts as what it refers
// to, unless its type is a struct that has the method from an embedded field: such a
// struct has other fields too.
//
// It follows the value by reflection, a microsecond or several. It may be used by
// several goroutines at a time; the value must not change meanwhile.
func SizerOf[T any]() func(T) int {
	own := int(reflect.TypeFor[T]().Size())
	if knowsSize(reflect.TypeFor[T]()) {
		return func(v T) int { return own + any(v).(sized).MemorySize() }
	}
	return func(v T) int { return own + referred(reflect.ValueOf(&v).Elem(), maxSizeDepth) }
}

// sized is not Size() int: the types of k8s.io/api have that, and return the length of
// their protobuf, a tenth of the memory that they take.
type sized interface{ MemorySize() int }

// knowsSize reports whether t has a MemorySize of its own.
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

// numField returns how many fields a struct has; 0 for what is none.
func numField(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return 0
	}
	return t.NumField()
}

const (
	maxSizeDepth = 64 // a value that refers to itself ends there
	mapEntry     = 10 // bytes of a map for an entry besides key and value, at the usual load
)

// referred is the size of what v refers to, but not of v.
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

// referredByAll is the size of what the elements of v refer to.
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
