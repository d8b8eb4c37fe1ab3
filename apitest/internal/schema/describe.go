package schema

import (
	"maps"
	"slices"
	"strconv"

	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// description is a type as structured-merge-diff and compare see it.
type description struct {
	typed.ParseableType
	root  field
	zeros map[*node][]zero // of built-in types
}

// A zero is what an object always has, in Go: a member that is added where there is
// none.
type zero struct {
	name string
	v    any
}

// zeroMembers returns what kube-apiserver's Go struct for n always has: zero values,
// which have empty defaults in OpenAPI, and null where a list or object is
// required. Nobody owns them for being there.
func (n *node) zeroMembers() (zeros []zero) {
	for _, name := range n.names {
		if p := n.props[name]; p.def != nil && empty(p.def) {
			zeros = append(zeros, zero{name, complete(p, p.def)})
		} else if n.keepsNull(name) {
			zeros = append(zeros, zero{name, nil})
		}
	}
	for _, name := range slices.Concat(n.required, n.lists()) {
		known := slices.ContainsFunc(zeros, func(z zero) bool { return z.name == name })
		if p := n.props[name]; p != nil && p.def == nil && !known {
			zeros = append(zeros, zero{name, nil})
		}
	}
	return zeros
}

// findZeros collects the zero members of n and all below.
func (d *description) findZeros(n *node) {
	if n = n.target(); n == nil {
		return
	}
	if _, ok := d.zeros[n]; ok {
		return
	}
	d.zeros[n] = n.zeroMembers()
	for _, p := range n.props {
		d.findZeros(p)
	}
	d.findZeros(n.extra)
	d.findZeros(n.items)
}

// A field is what the two descriptions of its type say.
type field struct {
	ref  smd.TypeRef
	node *node // nil of custom resources, and where nothing is known
}

func (f field) member(m *smd.Map, name string) field {
	child, _ := f.node.member(name)
	if sf, ok := m.FindField(name); ok {
		return field{sf.Type, child}
	}
	return field{m.ElementType, child}
}

// elementType is what the elements of a list are.
type elementType struct {
	*smd.List
	field field
}

func (f field) elementsOf(l *smd.List) elementType {
	var items *node
	if n := f.node.target(); n != nil {
		items = n.items
	}
	return elementType{l, field{l.ElementType, items}}
}

// form returns how v is to be taken, as one of what f allows: the library deduces
// it likewise. It reports false for what is of none, and where null may be several.
func (d *description) form(f field, v any) (smd.Atom, bool) {
	atom, ok := d.Schema.Resolve(f.ref)
	if !ok {
		return atom, false
	}
	switch v.(type) {
	case nil:
		several := atom.Scalar != nil && (atom.Map != nil || atom.List != nil) || atom.Map != nil && atom.List != nil
		return atom, !several && atom != smd.Atom{}
	case map[string]any:
		return smd.Atom{Map: atom.Map}, atom.Map != nil
	case []any:
		return smd.Atom{List: atom.List}, atom.List != nil
	}
	return smd.Atom{Scalar: atom.Scalar}, atom.Scalar != nil
}

// fits reports whether v is of the type of f, and no list in it has an element
// twice.
func (d *description) fits(f field, v any) bool {
	atom, ok := d.form(f, v)
	if v == nil {
		return atom != smd.Atom{}
	}
	if !ok {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if !d.fits(f.member(atom.Map, name), e) {
				return false
			}
		}
	case []any:
		l := f.elementsOf(atom.List)
		var seen map[string]bool
		for _, e := range v {
			if !d.fits(l.field, e) {
				return false
			}
			if l.ElementRelationship != smd.Associative {
				continue
			}
			key, ok := d.appendKey(nil, l, e)
			if !ok || seen[string(key)] {
				return false
			}
			if seen == nil {
				seen = make(map[string]bool, len(v))
			}
			seen[string(key)] = true
		}
	case string:
		return *atom.Scalar == smd.String || *atom.Scalar == smd.Untyped
	case bool:
		return *atom.Scalar == smd.Boolean || *atom.Scalar == smd.Untyped
	case int64, float64:
		return *atom.Scalar == smd.Numeric || *atom.Scalar == smd.Untyped
	default:
		return false
	}
	return true
}

// appendKey appends the key of an element of an associative list. It
// reports false for what cannot be one, and leaves numbers with fractions to the
// library.
func (d *description) appendKey(b []byte, l elementType, v any) ([]byte, bool) {
	if len(l.Keys) == 0 {
		return appendScalar(b, v)
	}
	some := false
	for _, name := range l.Keys {
		if key, ok := d.keyValue(l, v, name); ok {
			if key == nil {
				b = append(b, 'n')
			} else if b, ok = appendScalar(b, key); !ok {
				return b, false
			}
			some = true
		}
		b = append(b, ',')
	}
	return b, some
}

func appendScalar(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case string:
		return append(strconv.AppendInt(append(b, 's'), int64(len(v)), 10), ":"+v...), true
	case int64:
		return strconv.AppendInt(append(b, 'i'), v, 10), true
	case bool:
		return strconv.AppendBool(b, v), true
	}
	return b, false
}

// keyValue returns the value of a key of v, an element, or its default.
func (d *description) keyValue(l elementType, v any, name string) (any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	if key, ok := d.mapOf(l.field, m).get(name); ok {
		return key, true
	}
	atom, ok := d.Schema.Resolve(l.ElementType)
	if !ok || atom.Map == nil {
		return nil, false
	}
	sf, _ := atom.Map.FindField(name)
	return sf.Default, sf.Default != nil
}

// completed is an object with its zero members.
type completed struct {
	field field
	m     map[string]any // nil for null
	zeros []zero
}

func (d *description) mapOf(f field, v any) completed {
	m, ok := v.(map[string]any)
	if !ok {
		return completed{field: f}
	}
	return completed{f, m, d.zeros[f.node.target()]}
}

func (c completed) empty() bool { return len(c.m)+len(c.zeros) == 0 }

func (c completed) get(name string) (any, bool) {
	if v, ok := c.m[name]; ok {
		return v, true
	}
	for _, z := range c.zeros {
		if z.name == name {
			return z.v, true
		}
	}
	return nil, false
}

// many is the number of parts of a value from which on they are visited as a
// [fieldpath.PathElementSet] has them: it moves what it has for each that comes before.
const many = 64

// all goes through the members, in order where they are many.
func (c completed) all(yield func(string, any) bool) {
	names := slices.AppendSeq(make([]string, 0, 32), maps.Keys(c.m))
	for _, z := range c.zeros {
		if _, ok := c.m[z.name]; !ok {
			names = append(names, z.name)
		}
	}
	if len(names) > many {
		slices.Sort(names)
	}
	for _, name := range names {
		if v, _ := c.get(name); !yield(name, v) {
			return
		}
	}
}
