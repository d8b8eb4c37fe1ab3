package schema

import "slices"

// Default sets missing fields of o to the defaults of t. For a custom resource it first
// removes nulls that are not allowed, as kube-apiserver does. For a built-in type it
// uses only the defaults in OpenAPI, such as the TCP of a port and an empty status:
// kube-apiserver sets most others in code.
func (t *Type) Default(o map[string]any) {
	if t.builtIn {
		defaultTyped(t.root, o)
		return
	}
	dropNulls(t.root, o)
	defaultCustom(t.root, o)
}

// DefaultApplied is Default for the result of a server-side apply, in which nulls are
// kept, to be refused.
func (t *Type) DefaultApplied(o map[string]any) {
	if t.builtIn {
		defaultTyped(t.root, o)
		return
	}
	defaultCustom(t.root, o)
}

func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	if p := n.props[name]; p != nil {
		return p
	}
	return n.extra
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

func defaultCustom(n *node, v any) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range n.names {
			c := n.props[name]
			if c.def == nil {
				continue
			}
			if e, ok := v[name]; !ok || e == nil && !c.nullable {
				v[name] = Copy(c.def)
			}
		}
		for name, e := range v {
			c := n.child(name)
			if e == nil && c != nil && !c.nullable && c.def != nil {
				e = Copy(c.def)
				v[name] = e
			}
			defaultCustom(c, e)
		}
	case []any:
		for i, e := range v {
			if e == nil && n.items != nil && !n.items.nullable && n.items.def != nil {
				v[i] = Copy(n.items.def)
			}
			defaultCustom(n.items, v[i])
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
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
