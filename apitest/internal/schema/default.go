package schema

import (
	"cmp"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/merge"
)

// Limits of what defaults add to an object: values, and bytes of names and texts.
const mostValues, mostText = 10_000, 256 << 10

// Default sets missing fields of o to the defaults of t. For a custom resource it first
// removes nulls that are not allowed, as kube-apiserver does. For a built-in type it
// uses only the defaults in OpenAPI, such as the TCP of a port and an empty status:
// kube-apiserver sets most others in code. It returns false if o would get too much: then
// some are missing.
func (t *Type) Default(o map[string]any) bool {
	if !t.builtIn {
		dropNulls(t.root, o)
	}
	return t.DefaultApplied(o)
}

// DefaultApplied is Default for the result of a server-side apply: it keeps nulls, to be refused.
func (t *Type) DefaultApplied(o map[string]any) bool {
	if t.builtIn {
		defaultTyped(t.root, o)
		return true
	}
	left := room{mostValues, mostText}
	left.fill(t.root, o)
	return left.any()
}

func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	return cmp.Or(n.props[name], n.extra)
}

func dropNulls(n *node, v any) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			c := n.child(name)
			if e == nil && c != nil && !c.nullable && c.def == nil {
				delete(v, name)
				continue
			}
			dropNulls(c, e)
		}
	case []any:
		for _, e := range v {
			dropNulls(n.items, e)
		}
	}
}

// index notes where n, of a custom type, has defaults: a schema may have 50,000 properties without,
// and an object as many parts.
func (n *node) index() bool {
	if n == nil {
		return false
	}
	n.fills = n.def != nil
	for _, name := range n.names {
		if n.fills = n.props[name].index() || n.fills; n.props[name].def != nil {
			n.defaults = append(n.defaults, name)
		}
	}
	items, extra := n.items.index(), n.extra.index()
	n.fills = n.fills || items || extra
	return n.fills
}

// room is how many values and how much text may still be added; below 0 = that was too much.
type room struct{ values, text int }

func (r *room) any() bool { return r.values >= 0 && r.text >= 0 }

// has counts a default, and reports whether there is room for it.
func (r *room) has(name string, v any) bool {
	values, text := merge.Count(v)
	r.values, r.text = r.values-values, r.text-text-len(name)
	return r.any()
}

// fill sets the defaults of a custom type while there is room.
func (r *room) fill(n *node, v any) {
	if n == nil || !n.fills || !r.any() {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range n.defaults {
			c := n.props[name]
			if e, ok := v[name]; (!ok || e == nil && !c.nullable) && r.has(name, c.def) {
				v[name] = Copy(c.def)
			}
		}
		for name, e := range v {
			c := n.child(name)
			if e == nil && c != nil && !c.nullable && c.def != nil && r.has(name, c.def) {
				v[name] = Copy(c.def)
			}
			r.fill(c, v[name])
		}
	case []any:
		for i, e := range v {
			if e == nil && n.items != nil && !n.items.nullable && n.items.def != nil && r.has("", n.items.def) {
				v[i] = Copy(n.items.def)
			}
			r.fill(n.items, v[i])
		}
	}
}

func defaultTyped(n *node, v any) {
	if n = n.target(); n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range n.names {
			// The zero value of what is required is there to be refused.
			c := n.props[name]
			if v[name] == nil && c.def != nil && (c.ref != nil || !empty(c.def) || !slices.Contains(n.required, name)) {
				v[name] = Copy(c.def)
			}
		}
		for name, e := range v {
			defaultTyped(n.child(name), e)
		}
	case []any:
		for _, e := range v {
			defaultTyped(n.items, e)
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == int64(0) || v == float64(0) || v == false
}
