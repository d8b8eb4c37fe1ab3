package merge

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// AmbiguousError is client.AmbiguousError, whose doc it has.
type AmbiguousError struct {
	Path    string
	Unknown []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s: it is not certain which elements were changed, removed or added, and some have members that the Go type does not know (%s): add these fields to the type, or use Patch",
		e.Path, strings.Join(e.Unknown, ", "))
}

// Change makes the change of a value of a Go type, from before to after, in all, the
// object that the value was decoded from. known is all without the members that the type
// does not have; before and after are encodings of the value, and view returns that of
// the value that is decoded from another object, nil if it cannot be decoded. Members
// that the type does not have are kept, or it is not certain which element of a list they
// belong to. Change does not change its arguments, and its result shares parts of them.
func Change(all, known, before, after map[string]any, view func(map[string]any) map[string]any) (map[string]any, *AmbiguousError) {
	m := merger{tree: all, view: view}
	result := m.members(rootType(all), all, known, before, after)
	return result, m.err
}

// merger applies the difference of two encodings of a T to the object. The same value
// is in all: the whole object; in known: the object without the members that T does not
// have; in before: the encoding of the T; in after: the encoding of the changed T.
type merger struct {
	tree map[string]any                           // the object
	view func(tree map[string]any) map[string]any // encoding of the T that is decoded from another tree
	path []any                                    // names of members, and indexes in all
	err  *AmbiguousError                          // the first error
}

// at calls f for the value at a further step of the path.
func (m *merger) at(step any, f func() any) any {
	m.path = append(m.path, step)
	defer func() { m.path = m.path[:len(m.path)-1] }()
	return f()
}

// fail stores the error that the value at the path cannot be merged.
func (m *merger) fail(unknown []string) {
	if m.err == nil {
		m.err = &AmbiguousError{Path: pathText(m.path), Unknown: clipNames(unknown)}
	}
}

// value returns all with the change from before to after; typ is its type in listTypes.
func (m *merger) value(typ listType, all, known, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return all
	}
	switch after := after.(type) {
	case map[string]any:
		all, isMap := all.(map[string]any)
		was, wasMap := before.(map[string]any)
		if isMap && (wasMap || before == nil) { // nil: T shows none of its members
			known, _ := known.(map[string]any)
			return m.members(typ, all, known, was, after)
		}
	case []any:
		if all, isList := all.([]any); isList {
			known, _ := known.([]any)
			was, _ := before.([]any)
			return m.list(typ, all, known, was, after)
		}
	}
	return after
}

func (m *merger) members(typ listType, all, known, before, after map[string]any) map[string]any {
	result := maps.Clone(all)
	for name, was := range before {
		if _, ok := after[name]; ok {
			continue
		}
		inner, isMap := all[name].(map[string]any)
		if isMap && len(unknown(inner, known[name], was)) > 0 && m.at(name, func() any { return isStruct(m.tree, m.path, m.view) }).(bool) {
			// It became zero, and has omitzero: the members that T has are removed.
			result[name] = m.at(name, func() any { return m.value(typ.member(name), inner, known[name], was, map[string]any{}) })
			continue
		}
		delete(result, name)
	}
	for name, now := range after {
		was, ok := before[name]
		if ok && reflect.DeepEqual(was, now) {
			continue
		}
		result[name] = m.at(name, func() any { return m.value(typ.member(name), all[name], known[name], was, now) })
	}
	return result
}

// unknown returns the members of all, an element or a part of one, that a T does not
// hold: those that are not in known, and non-zero ones that are not in before.
func unknown(all, known, before any) []string {
	var names []string
	switch all := all.(type) {
	case map[string]any:
		known, isMap := known.(map[string]any)
		before, shown := before.(map[string]any)
		if !isMap || !shown {
			return nil // a type with its own JSON encoding
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			k, ok := known[name]
			b, shown := before[name]
			switch {
			case all[name] == nil:
			case !ok, !shown && !IsZero(all[name]):
				names = append(names, name)
			case shown:
				for _, inner := range unknown(all[name], k, b) {
					names = append(names, name+"."+inner)
				}
			}
		}
	case []any:
		known, _ := known.([]any)
		before, shown := before.([]any)
		if !shown {
			return nil
		}
		if len(known) != len(all) || len(before) != len(all) {
			return []string{"[]"}
		}
		for i := range all {
			names = append(names, unknown(all[i], known[i], before[i])...)
		}
	}
	return names
}

// IsZero reports whether omitempty or omitzero leave out v.
func IsZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, inner := range v {
			if !IsZero(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// isStruct reports whether the member of a T at path is a struct field, and neither a
// pointer nor an entry of a map: as an empty object it is left out, by omitzero, or if
// it is missing it is still encoded.
func isStruct(tree map[string]any, path []any, view func(map[string]any) map[string]any) bool {
	empty := view(replaced(tree, path, map[string]any{}).(map[string]any))
	if empty != nil && lookup(empty, path) == nil {
		return true
	}
	around, last := path[:len(path)-1], path[len(path)-1].(string)
	without := maps.Clone(lookup(tree, around).(map[string]any))
	delete(without, last)
	_, shown := lookup(view(replaced(tree, around, without).(map[string]any)), path).(map[string]any)
	return shown
}

// lookup returns the value at path in v.
func lookup(v any, path []any) any {
	for _, step := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[step.(string)]
		case []any:
			v = in[step.(int)]
		}
	}
	return v
}

// replaced returns v with the value by at path; it shares the rest with v.
func replaced(v any, path []any, by any) any {
	if len(path) == 0 {
		return by
	}
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		name := path[0].(string)
		v[name] = replaced(v[name], path[1:], by)
		return v
	case []any:
		v = slices.Clone(v)
		i := path[0].(int)
		v[i] = replaced(v[i], path[1:], by)
		return v
	}
	return v
}

// pathText formats a path for errors: spec.containers[0].env.
func pathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(plainName(step))
		}
	}
	return b.String()
}

// plainName returns the name of a member, which comes from a server, safe and short for
// an error.
func plainName(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "..."
	}
	if q := strconv.Quote(name); q != `"`+name+`"` || name == "" {
		return q
	}
	return name
}

// clipNames returns the first five different names.
func clipNames(names []string) []string {
	const most = 5
	var clipped []string
	for _, name := range names {
		if name = plainName(name); !slices.Contains(clipped, name) {
			clipped = append(clipped, name)
		}
	}
	if len(clipped) > most {
		clipped = append(clipped[:most:most], "...")
	}
	return clipped
}
