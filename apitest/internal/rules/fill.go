package rules

import (
	"maps"
	"reflect"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// Defaults sets defaults of objects and notes whether that changed anything.
type Defaults struct{ Changed bool }

// Put sets a member.
func (d *Defaults) Put(m map[string]any, name string, v any) {
	m[name] = v
	d.Changed = true
}

// Set sets a missing member.
func (d *Defaults) Set(m map[string]any, name string, v any) {
	if m[name] == nil {
		d.Put(m, name, v)
	}
}

// Null sets a missing member to null, as Go encodes it.
func (d *Defaults) Null(m map[string]any, name string) {
	if _, ok := m[name]; !ok {
		d.Put(m, name, nil)
	}
}

// Text sets a missing or empty string.
func (d *Defaults) Text(m map[string]any, name, v string) {
	if e := m[name]; e == nil || e == "" {
		d.Put(m, name, v)
	}
}

// Number sets a missing number or 0.
func (d *Defaults) Number(m map[string]any, name string, v int64) {
	if e := m[name]; e == nil || e == int64(0) {
		d.Put(m, name, v)
	}
}

// Object returns the object m[name], and creates a missing one.
func (d *Defaults) Object(m map[string]any, name string) map[string]any {
	if c := ObjectAt(m, name); c != nil {
		return c
	}
	c := make(map[string]any)
	d.Put(m, name, c)
	return c
}

// Drop removes members with the zero value of their type: Go's omitempty.
func (d *Defaults) Drop(m map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := m[name]; ok && (v == nil || v == false || v == "" || v == int64(0)) {
			d.Remove(m, name)
		}
	}
}

// DropIn is Drop for the objects in the list m[list].
func (d *Defaults) DropIn(m map[string]any, list string, names ...string) {
	for c := range ObjectsAt(m, list) {
		d.Drop(c, names...)
	}
}

// NullEmpty sets a missing or empty list to null, as Go encodes it.
func (d *Defaults) NullEmpty(m map[string]any, name string) {
	if _, ok := m[name]; !ok || m[name] != nil && Lacks(m, name) {
		d.Put(m, name, nil)
	}
}

// Remove removes a member.
func (d *Defaults) Remove(m map[string]any, name string) {
	if _, ok := m[name]; ok {
		delete(m, name)
		d.Changed = true
	}
}

// CopyFrom sets a missing member to that of old, if it has one.
func (d *Defaults) CopyFrom(m map[string]any, name string, old map[string]any) {
	if v := old[name]; v != nil {
		d.Set(m, name, schema.Copy(v))
	}
}

// ObjectAt returns the object m[name], nil if there is none.
func ObjectAt(m map[string]any, name string) map[string]any {
	c, _ := m[name].(map[string]any)
	return c
}

// ObjectsAt iterates over the objects in the list m[name].
func ObjectsAt(m map[string]any, name string) func(yield func(map[string]any) bool) {
	list, _ := m[name].([]any)
	return func(yield func(map[string]any) bool) {
		for _, e := range list {
			if c, ok := e.(map[string]any); ok && !yield(c) {
				return
			}
		}
	}
}

// TextAt returns the string m[name], "" if there is none.
func TextAt(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// IntAt returns the number m[name], 0 if there is none.
func IntAt(m map[string]any, name string) int64 {
	n, _ := m[name].(int64)
	return n
}

// ListAt returns the list m[name], nil if there is none.
func ListAt(m map[string]any, name string) []any {
	l, _ := m[name].([]any)
	return l
}

// Lacks reports whether m has no elements under name.
func Lacks(m map[string]any, name string) bool {
	switch v := m[name].(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return m[name] == nil
}

// SameValue reports whether two values are equal; missing and empty ones are, and within
// objects requests and limits of the same amounts, such as 1Gi and 1073741824.
func SameValue(a, b any) bool { return nothing(a) && nothing(b) || same(a, b) }

func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		ok = ok && len(a) == len(b)
		for name, v := range a {
			w, both := b[name]
			amounts := name == "requests" || name == "limits"
			ok = ok && both && (same(v, w) || amounts && sameAmounts(ObjectAt(a, name), ObjectAt(b, name)))
		}
		return ok
	}
	return reflect.DeepEqual(a, b)
}

func sameAmounts(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(v, w any) bool {
		s, _ := v.(string)
		t, _ := w.(string)
		return CompareQuantities(s, t) == 0
	})
}

func nothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// EqualText compares two maps of strings.
func EqualText(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(v, w any) bool {
		s, ok := v.(string)
		return ok && s == w
	})
}
