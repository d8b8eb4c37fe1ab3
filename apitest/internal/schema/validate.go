package schema

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/kube"
)

// Validate returns the errors of a custom resource, for the details of a Status:
// fields, reasons and messages are kube-apiserver's; they are sorted by field names.
// old is the previous object, nil for a create: unchanged values may be invalid. o is
// pruned and has its defaults. It does not support built-in types and CEL rules.
//
// A field "<nil>" is kube-apiserver's too, if one of oneOf, anyOf, allOf and not fails,
// or a number does not fit.
func (t *Type) Validate(o, old map[string]any) []kube.StatusCause {
	if t.builtIn {
		return nil
	}
	var v validator
	v.value("", t.root, o, anyOld(old))
	if old == nil || len(listCauses(t.root, old)) == 0 {
		v.Append(listCauses(t.root, o)...)
	}
	return v.Causes
}

// previous is the value that one is compared with, if there is one.
type previous struct {
	v  any
	ok bool
}

func anyOld(o map[string]any) previous { return previous{o, o != nil} }

func (p previous) member(name string) previous {
	m, _ := p.v.(map[string]any)
	v, ok := m[name]
	return previous{v, ok}
}

// elements returns what finds the element that e was, in a list whose elements
// have keys.
func (p previous) elements(n *node) func(e any) previous {
	list, _ := p.v.([]any)
	if n.listType != "map" || len(list) == 0 {
		return func(any) previous { return previous{} }
	}
	key := func(e any) string {
		m, _ := e.(map[string]any)
		values := make([]any, len(n.listKeys))
		for i, name := range n.listKeys {
			values[i] = m[name]
		}
		return show(values)
	}
	was := make(map[string]any, len(list))
	for _, e := range list {
		was[key(e)] = e
	}
	return func(e any) previous {
		v, ok := was[key(e)]
		return previous{v, ok}
	}
}

// validator collects errors, and counts valid parts to find the best alternative.
type validator struct {
	causes.List
	matches int
}

func (v *validator) add(path, reason, format string, args ...any) {
	if !v.Full() {
		v.Add(kube.StatusCause{Reason: "FieldValue" + reason, Message: fmt.Sprintf(format, args...), Field: strings.TrimPrefix(path, ".")})
	}
}

// invalid adds an error whose text names the field again.
func (v *validator) invalid(path string, value any, format string, args ...any) {
	v.add(path, "Invalid", "Invalid value: %s: %s in body %s", show(value), path, fmt.Sprintf(format, args...))
}

// general adds an error that kube-apiserver does not tie to a field.
func (v *validator) general(format string, args ...any) {
	v.add("<nil>", "Invalid", `Invalid value: "": %s`, fmt.Sprintf(format, args...))
}

func (v *validator) value(path string, n *node, value any, old previous) {
	if v.Full() || old.ok && reflect.DeepEqual(value, old.v) {
		return
	}
	v.typ(path, n, value)
	if value != nil && n.rules != nil {
		v.combined(path, n.rules, value)
	}
	switch value := value.(type) {
	case string:
		v.text(path, n, value)
	case int64, float64:
		v.number(path, n, value)
	case []any:
		v.list(path, n, value, old)
	}
	if n.rules != nil && n.rules.enum != nil {
		v.enum(path, n.rules.enum, value)
	}
	if value, ok := value.(map[string]any); ok {
		v.object(path, n, value, old)
	}
}

// typ checks the type alone.
func (v *validator) typ(path string, n *node, value any) {
	types := strings.Join(n.types, ",")
	fail := func(want, got string) {
		v.add(path, "TypeInvalid", "Invalid value: %q: %s in body must be of type %s: %q", got, path, want, got)
	}
	if value == nil {
		if len(n.types) > 0 && !n.nullable {
			fail(types, "null")
		}
		return
	}
	typ, format := "", ""
	whole := false
	switch value := value.(type) {
	case bool:
		typ = "boolean"
	case string:
		typ = "string"
	case int64:
		typ, format = "integer", "int64"
	case float64:
		typ, format = "number", "float64"
		whole = value == math.Trunc(value) && math.Abs(value) < 1<<53
	case []any:
		typ = "array"
	case map[string]any:
		typ = "object"
	}
	known := n.is(typ) || whole && n.is("integer") || typ == "integer" && n.is("number")
	plain := typ == "string" || typ == "array"
	want := n.knownFormat()
	switch {
	case len(n.types) == 0 && want == "":
	case !plain && want != "" && !known && format != want:
		fail(want, format)
		return
	case plain && want != "" && !n.is("number") && !n.is("integer"):
	case !known:
		fail(types, typ)
		return
	}
	v.matches++
}

func (v *validator) object(path string, n *node, o map[string]any, old previous) {
	if r, size := n.rules, int64(len(o)); r != nil {
		if r.minProps != nil && size < *r.minProps {
			v.invalid(path, size, "should have at least %d properties", *r.minProps)
		}
		if r.maxProps != nil && size > *r.maxProps {
			v.tooMany(path, size, *r.maxProps)
		}
	}
	for _, name := range sortedKeys(o) {
		below := path + "." + short(name)
		if path == "" && n.props[name] != nil {
			below = name
		}
		if c := n.child(name); c != nil {
			v.value(below, c, o[name], old.member(name))
		}
	}
	for _, name := range n.required {
		if _, ok := o[name]; !ok {
			if v.add(path+"."+short(name), "Required", "Required value"); v.Full() {
				return
			}
			continue
		}
		v.matches++
	}
}

func (v *validator) merge(sub *validator) {
	v.Append(sub.Causes...)
	v.matches += sub.matches
}

// show returns a value as errors quote it.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case int64, float64, bool:
		return fmt.Sprint(v)
	}
	b, err := Encode(v)
	if err != nil {
		return "?"
	}
	return string(b)
}
