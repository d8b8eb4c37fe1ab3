package schema

import (
	"strings"

	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Typed returns t for structured-merge-diff: which lists are maps or sets, by
// which keys with which defaults, and which maps are atomic. It is made at the
// first call.
func (t *Type) Typed() typed.ParseableType { return t.described().ParseableType }

const (
	untyped = "__untyped_atomic_"
	deduced = "__untyped_deduced_" // the value says: maps are merged, lists replaced
	rootOf  = "root of "
)

// convert makes what described returns.
func (t *Type) convert() *description {
	c := converter{done: make(map[string]bool), meta: t.meta}
	c.types = append(c.types, anyType(untyped, untyped, smd.Atomic), anyType(deduced, deduced, smd.Separable))
	name := t.root.name
	if t.builtIn {
		c.later(t.root)
	} else {
		name = rootOf + t.id.String()
		c.types = append(c.types, smd.TypeDef{Name: name, Atom: c.atom(withMeta(t.root, t.meta), false)})
	}
	for len(c.todo) > 0 {
		n := c.todo[0]
		c.todo = c.todo[1:]
		c.types = append(c.types, smd.TypeDef{Name: n.name, Atom: c.named(n)})
	}
	d := &description{ParseableType: (&typed.Parser{Schema: smd.Schema{Types: c.types}}).Type(name)}
	if d.root.ref = d.TypeRef; t.builtIn {
		d.zeros = make(map[*node][]zero)
		d.root.node = t.root
		d.findZeros(t.root)
	}
	return d
}

// anyType is a type that anything is of.
func anyType(name, element string, maps smd.ElementRelationship) smd.TypeDef {
	list := untyped
	return smd.TypeDef{Name: name, Atom: smd.Atom{
		Scalar: scalarOf("untyped"),
		List:   &smd.List{ElementType: smd.TypeRef{NamedType: &list}, ElementRelationship: smd.Atomic},
		Map:    &smd.Map{ElementType: smd.TypeRef{NamedType: &element}, ElementRelationship: maps},
	}}
}

func scalarOf(s smd.Scalar) *smd.Scalar { return &s }

// withMeta returns n with the members that every object has.
func withMeta(n, meta *node) *node {
	c := *n
	c.props = make(map[string]*node, len(n.props)+3)
	for name, p := range n.props {
		c.props[name] = p
	}
	text := &node{types: []string{"string"}}
	c.props["apiVersion"], c.props["kind"], c.props["metadata"] = text, text, &node{ref: meta}
	c.names = sortedKeys(c.props)
	return &c
}

type converter struct {
	types []smd.TypeDef
	todo  []*node
	done  map[string]bool
	meta  *node
}

func (c *converter) later(n *node) {
	if !c.done[n.name] {
		c.done[n.name] = true
		c.todo = append(c.todo, n)
	}
}

func (c *converter) named(n *node) smd.Atom {
	switch {
	case strings.HasSuffix(n.name, ".Quantity"):
		return smd.Atom{Scalar: scalarOf("untyped")}
	case strings.HasSuffix(n.name, ".RawExtension"):
		return anyType("", untyped, smd.Atomic).Atom
	}
	return c.atom(n, false)
}

func (c *converter) reference(n *node, preserve bool) smd.TypeRef {
	if n.ref == nil {
		return smd.TypeRef{Inlined: c.atom(n, preserve)}
	}
	t := n.target()
	c.later(t)
	ref := smd.TypeRef{NamedType: &t.name}
	if m := mapRelation(n); m != "" {
		ref.ElementRelationship = &m
	}
	return ref
}

func mapRelation(n *node) smd.ElementRelationship {
	switch n.mapType {
	case "atomic":
		return smd.Atomic
	case "granular":
		return smd.Separable
	}
	return ""
}

// atom returns the type of n; preserve is inherited from what n is in.
func (c *converter) atom(n *node, preserve bool) smd.Atom {
	preserve = preserve || n.preserve
	if n.embedded && c.meta != nil {
		n = withMeta(n, c.meta)
	}
	if len(n.types) != 1 || n.intOrString {
		return smd.Atom{Scalar: scalarOf("untyped"), List: c.list(n, preserve), Map: c.object(n, preserve)}
	}
	switch n.types[0] {
	case "object":
		return smd.Atom{Map: c.object(n, preserve)}
	case "array":
		return smd.Atom{List: c.list(n, preserve)}
	case "integer", "number":
		return smd.Atom{Scalar: scalarOf(smd.Numeric)}
	case "boolean":
		return smd.Atom{Scalar: scalarOf(smd.Boolean)}
	case "string":
		if n.format == "" || n.format == "byte" {
			return smd.Atom{Scalar: scalarOf(smd.String)}
		}
	}
	return smd.Atom{Scalar: scalarOf("untyped")}
}

func (c *converter) object(n *node, preserve bool) *smd.Map {
	m := &smd.Map{ElementRelationship: mapRelation(n)}
	for _, name := range n.names {
		p := n.props[name]
		m.Fields = append(m.Fields, smd.StructField{Name: name, Type: c.reference(p, preserve), Default: p.def})
	}
	switch {
	case n.extra != nil:
		m.ElementType = c.reference(n.extra, preserve)
	case n.extraAny, preserve, len(n.props) == 0:
		name := deduced
		m.ElementType = smd.TypeRef{NamedType: &name}
	}
	return m
}

func (c *converter) list(n *node, preserve bool) *smd.List {
	l := &smd.List{ElementRelationship: smd.Atomic}
	switch {
	case n.listType == "set":
		l.ElementRelationship = smd.Associative
	case n.listType == "map":
		l.ElementRelationship, l.Keys = smd.Associative, n.listKeys
	case n.listType == "" && len(n.strategies) > 0 && n.strategies[0] == "merge":
		l.ElementRelationship = smd.Associative
		if n.mergeKey != "" {
			l.Keys = []string{n.mergeKey}
		}
	}
	if n.items != nil {
		l.ElementType = c.reference(n.items, preserve)
		return l
	}
	name := untyped
	l.ElementType = smd.TypeRef{NamedType: &name}
	return l
}

// lists returns the names of lists that are not required and yet always there, in
// Go: null if nothing else. Who writes an empty one owns it.
func (n *node) lists() []string {
	switch n.name[strings.LastIndexByte(n.name, '.')+1:] {
	case "Role", "ClusterRole":
		return []string{"rules"}
	case "EndpointSlice":
		return []string{"endpoints", "ports"}
	}
	return nil
}

// complete returns a copy of v with what kube-apiserver's Go struct for n always
// has.
func complete(n *node, v any) any {
	t := n.target()
	if t == nil {
		return Copy(v)
	}
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v)+2)
		for name, e := range v {
			child, _ := t.member(name)
			c[name] = complete(child, e)
		}
		for _, z := range t.zeroMembers() {
			if _, ok := c[z.name]; !ok {
				c[z.name] = z.v
			}
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = complete(t.items, e)
		}
		return c
	}
	return v
}
