package objects_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mutation is one thing that is done to a valid object.
type mutation struct {
	path []any  // names of members and places in lists
	what string // for people, as the lines of differences.txt have it
	do   func(old any) (v any, kept bool)
}

func (m mutation) String() string {
	var b strings.Builder
	for i, p := range m.path {
		switch p := p.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", p)
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(p)
		}
	}
	return b.String() + " " + m.what
}

// mutations returns what may be done to v, which is at path of an object, and to all that
// is in it, in an order that does not change.
func mutations(path []any, v any) (list []mutation) {
	add := func(what string, do func(any) (any, bool)) {
		list = append(list, mutation{slices.Clone(path), what, do})
	}
	set := func(what string, v any) { add(what, func(any) (any, bool) { return v, true }) }
	if len(path) > 0 {
		add("missing", func(any) (any, bool) { return nil, false })
	}
	switch v := v.(type) {
	case map[string]any:
		if len(path) > 0 {
			set("= {}", map[string]any{})
		}
		if texts(v) && len(path) > 0 && path[len(path)-1] != "metadata" {
			with := func(key string, value any) func(any) (any, bool) {
				return func(old any) (any, bool) {
					m := maps.Clone(old.(map[string]any))
					m[key] = value
					return m, true
				}
			}
			add("with a bad key", with("Bad key!", "v"))
			add("with a bad value", with("k", "Bad value!"))
			add("with a long value", with("k", strings.Repeat("v", 300)))
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(path) == 0 && (name == "apiVersion" || name == "kind") {
				continue
			}
			list = append(list, mutations(append(slices.Clone(path), name), v[name])...)
		}
	case []any:
		set("= []", []any{})
		add("with its first twice", func(old any) (any, bool) {
			l := old.([]any)
			return append(slices.Clone(l), l[0]), true
		})
		for i, e := range v {
			list = append(list, mutations(append(slices.Clone(path), i), e)...)
		}
	case string:
		set(`= ""`, "")
		set(`= "Not Valid!"`, "Not Valid!")
		set(`= "other"`, "other")
		set(`= " x"`, " x")
		set(`= "../x"`, "../x")
		set("= 300 letters", strings.Repeat("a", 300))
		set("= 7", json.Number("7"))
	case json.Number:
		for _, n := range [...]string{"0", "-1", "1", "101", "70000", "2147483647", "2147483648"} {
			set("= "+n, json.Number(n))
		}
		set(`= "x"`, "x")
	case bool:
		set(fmt.Sprintf("= %v", !v), !v)
	}
	return list
}

// texts reports whether all members of m are strings: a map of labels, or one like it.
func texts(m map[string]any) bool {
	for _, v := range m {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return len(m) > 0
}

// apply returns v with m done to what is at path; v stays as it is.
func apply(v any, path []any, m mutation) (any, bool) {
	if len(path) == 0 {
		return m.do(v)
	}
	switch at := path[0].(type) {
	case string:
		old, ok := v.(map[string]any)
		if !ok || old[at] == nil {
			return v, true // another mutation has taken it away
		}
		o := maps.Clone(old)
		next, kept := apply(o[at], path[1:], m)
		if o[at] = next; !kept {
			delete(o, at)
		}
		return o, true
	case int:
		old, ok := v.([]any)
		if !ok || at >= len(old) {
			return v, true
		}
		l := slices.Clone(old)
		next, kept := apply(l[at], path[1:], m)
		if l[at] = next; !kept {
			l = slices.Delete(l, at, at+1)
		}
		return l, true
	}
	panic("a path has names and places")
}
