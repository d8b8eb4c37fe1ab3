package kube

import "reflect"

// Clone returns a deep copy of o. Use it before you change an object of a cache. Clone
// calls the method DeepCopy of a type that has one, or whose pointer has one, such as those
// of k8s.io/api. For other types the copy shares no map, slice or pointer with o, except in
// unexported fields and in keys of maps; channels and functions are shared too. o must not
// contain itself.
func Clone[T any](o T) T {
	v := reflect.ValueOf(&o).Elem()
	deepen(v)
	return o
}

// deepen replaces what v shares with others by copies; v can be set.
func deepen(v reflect.Value) {
	if flat(v.Kind()) || v.Kind() != reflect.Struct && v.Kind() != reflect.Array && v.IsZero() {
		return
	}
	if v.Kind() != reflect.Interface && v.CanInterface() {
		if c := copied(v); c.IsValid() {
			v.Set(c)
			return
		}
		if c := copied(v.Addr()); c.IsValid() && !c.IsNil() {
			v.Set(c.Elem())
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() || v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
				deepen(f)
			}
		}
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		deepen(to.Elem())
		v.Set(to)
	case reflect.Slice:
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		deepenAll(to)
		v.Set(to)
	case reflect.Array:
		deepenAll(v)
	case reflect.Map:
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			to.SetMapIndex(key, deepened(value))
		}
		v.Set(to)
	case reflect.Interface:
		v.Set(deepened(v.Elem()))
	}
}

// copied returns the result of the method DeepCopy of v; the zero Value if v has none.
func copied(v reflect.Value) reflect.Value {
	m := v.MethodByName("DeepCopy")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0) != v.Type() {
		return reflect.Value{}
	}
	return m.Call(nil)[0]
}

func deepenAll(list reflect.Value) {
	if flat(list.Type().Elem().Kind()) {
		return
	}
	for i := range list.Len() {
		deepen(list.Index(i))
	}
}

// deepened returns a deep copy of v.
func deepened(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	to.Set(v)
	deepen(to)
	return to
}

// flat reports whether values of a kind share nothing that can be copied.
func flat(k reflect.Kind) bool {
	switch k {
	case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Interface:
		return false
	}
	return true
}
