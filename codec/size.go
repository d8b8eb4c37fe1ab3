package codec

import "reflect"

// SizerOf returns a function that estimates how many bytes of memory a value
// takes: itself, and all that its strings, slices, maps, pointers and interfaces
// refer to. What is referred to twice counts twice. A method Size() int of T
// answers instead, as that of Raw.
//
// It follows the value by reflection, a microsecond or several. It may be used by
// several goroutines at a time; the value must not change meanwhile.
func SizerOf[T any]() func(T) int {
	type sized interface{ Size() int }
	if _, ok := any(*new(T)).(sized); ok {
		own := int(reflect.TypeFor[T]().Size())
		return func(v T) int { return own + any(v).(sized).Size() }
	}
	return func(v T) int {
		r := reflect.ValueOf(&v).Elem()
		return int(r.Type().Size()) + referred(r, maxSizeDepth)
	}
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
		if !v.IsNil() {
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
