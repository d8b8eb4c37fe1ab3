// Package merge merges JSON (RFC 7396).
package merge

import "maps"

// JSON merges patch into original, as kube-apiserver does. original shares values with patch
// afterwards.
func JSON(original, patch map[string]any) {
	for name, e := range patch {
		p, isMap := e.(map[string]any)
		old, wasMap := original[name].(map[string]any)
		switch {
		case e == nil:
			delete(original, name)
		case isMap && wasMap:
			JSON(old, p)
		case isMap:
			fresh := map[string]any{}
			JSON(fresh, p)
			original[name] = fresh
		default:
			if !wasMap { // kube-apiserver stores a list in place of an object as it is
				pruneNulls(e)
			}
			original[name] = e
		}
	}
}

// pruneNulls removes the members of v that are null, at any depth. Elements of lists stay.
func pruneNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, e any) bool { return e == nil })
		for _, e := range v {
			pruneNulls(e)
		}
	case []any:
		for _, e := range v {
			pruneNulls(e)
		}
	}
}

// Copy returns a deep copy of a JSON value.
func Copy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = Copy(e)
		}
		return c
	case []any:
		if v == nil {
			return v
		}
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = Copy(e)
		}
		return c
	}
	return v
}

// Count returns how many values a JSON value has with those in it, and the bytes of its names
// and texts.
func Count(v any) (values, text int) {
	values = 1
	add := func(name string, e any) {
		n, t := Count(e)
		values, text = values+n, text+t+len(name)
	}
	switch v := v.(type) {
	case string:
		text = len(v)
	case map[string]any:
		for name, e := range v {
			add(name, e)
		}
	case []any:
		for _, e := range v {
			add("", e)
		}
	}
	return values, text
}
