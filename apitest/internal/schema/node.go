package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// node is the schema of a value. It is not changed once it is parsed.
type node struct {
	name string // of the component, such as "io.k8s.api.core.v1.Pod"; empty for one that is inline
	ref  *node  // what a $ref names; the members below add to it

	types    []string // none: any; more than one: int-or-string
	format   string
	props    map[string]*node
	names    []string // of props, sorted
	extra    *node    // additionalProperties
	extraAny bool     // additionalProperties: true
	items    *node
	required []string
	def      any
	nullable bool
	defaults []string // names of props that have one
	fills    bool     // it or a node below has defaults

	preserve, embedded, intOrString bool

	listType, mapType string
	listKeys          []string
	strategies        []string // x-kubernetes-patch-strategy
	mergeKey          string

	rules *rules // what only validation asks; nil: nothing
}

// rules are the limits of values in custom resources.
type rules struct {
	enum                         []any
	minimum, maximum, multipleOf *float64
	exclusiveMin, exclusiveMax   bool
	minLength, maxLength         *int64
	minItems, maxItems           *int64
	minProps, maxProps           *int64
	unique                       bool
	pattern                      *pattern
	allOf, anyOf, oneOf          []*node
	not                          *node
}

// target returns the node that n refers to, or n.
func (n *node) target() *node {
	for n != nil && n.ref != nil {
		n = n.ref
	}
	return n
}

// declares reports whether n has a property of that name.
func (n *node) declares(name string) bool {
	n = n.target()
	return n != nil && n.props[name] != nil
}

// omits reports whether kube-apiserver leaves a field with this value out of a
// built-in object: null is a Go field's zero value, and so is an empty list or map.
func (n *node) omits(name string, v any) bool {
	n = n.target()
	if n == nil || n.props[name] == nil {
		return false
	}
	p := n.props[name]
	switch v := v.(type) {
	case nil:
		return !n.keepsNull(name)
	case []any:
		return len(v) == 0 && p.is("array") && !slices.Contains(n.required, name) && !slices.Contains(n.lists(), name) &&
			name != "managedFields" // none of which says that all are to go
	case map[string]any:
		return len(v) == 0 && p.ref == nil && p.extra != nil && !slices.Contains(n.required, name)
	}
	return false
}

// keepsNull reports whether a field of a built-in object is sent as null where it
// has no value: the times of conditions and events, which are no pointers in Go.
func (n *node) keepsNull(name string) bool {
	p := n.target().props[name].target()
	if p == nil || p.name != timeName && p.name != microTimeName {
		return false
	}
	return n.target().timed()
}

// timed reports whether n is of those that have such times.
func (n *node) timed() bool {
	for _, of := range [...]string{"Condition", ".v1.Event", ".ContainerStateRunning", ".ContainerStateTerminated"} {
		if strings.HasSuffix(n.name, of) {
			return true
		}
	}
	return false
}

// nulls gives o, of a built-in type, the fields that are null where there is nothing.
func (n *node) nulls(o map[string]any) {
	t := n.target()
	if t == nil || !t.timed() {
		return
	}
	for name := range t.props {
		if _, ok := o[name]; !ok && t.keepsNull(name) {
			o[name] = nil
		}
	}
}

// member returns the schema of a member of n, and whether n knows it.
func (n *node) member(name string) (*node, bool) {
	n = n.target()
	if n == nil {
		return nil, true
	}
	if p := n.props[name]; p != nil {
		return p, true
	}
	if n.extra != nil {
		return n.extra, true
	}
	return nil, n.extraAny || n.preserve || len(n.props) == 0
}

func (n *node) is(typ string) bool { return slices.Contains(n.types, typ) }

// parser makes nodes of decoded schemas.
type parser struct {
	resolve func(name string) (*node, error) // a component
	left    int                              // nodes that may still be made
	depth   int
}

// nodeLimit bounds the size of one schema.
const nodeLimit = 100_000

func (p *parser) parse(v any) (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.left--; p.left < 0 || p.depth > depthLimit {
		return nil, errors.New("the schema is too large")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a schema must be an object, not %s", wordOf(v))
	}
	s := members{m: m}
	n := &node{
		format:   s.text("format"),
		def:      m["default"],
		nullable: s.flag("nullable"),
		preserve: s.flag("x-kubernetes-preserve-unknown-fields"), embedded: s.flag("x-kubernetes-embedded-resource"),
		intOrString: s.flag("x-kubernetes-int-or-string"),
		listType:    s.text("x-kubernetes-list-type"), mapType: s.text("x-kubernetes-map-type"),
		listKeys: s.texts("x-kubernetes-list-map-keys"), required: s.texts("required"),
		mergeKey: s.text("x-kubernetes-patch-merge-key"),
	}
	if t := s.text("x-kubernetes-patch-strategy"); t != "" {
		n.strategies = strings.Split(t, ",")
	}
	if t := s.text("type"); t != "" {
		n.types = []string{t}
	}
	if n.intOrString {
		n.types = []string{"integer", "string"}
	}
	if ref := s.text("$ref"); ref != "" {
		if p.resolve == nil {
			return nil, errors.New("$ref is not allowed")
		}
		var err error
		if n.ref, err = p.resolve(strings.TrimPrefix(ref, "#/components/schemas/")); err != nil {
			return nil, err
		}
	}
	if err := p.children(n, m); err != nil {
		return nil, err
	}
	if err := p.rules(n, &s); err != nil {
		return nil, err
	}
	return n, s.err
}

func (p *parser) children(n *node, m map[string]any) error {
	var err error
	if props, ok := m["properties"].(map[string]any); ok {
		n.props = make(map[string]*node, len(props))
		n.names = sortedKeys(props)
		for _, name := range n.names {
			if n.props[name], err = p.parse(props[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	switch e := m["additionalProperties"].(type) {
	case bool:
		n.extraAny = e
	case map[string]any:
		if n.extra, err = p.parse(e); err != nil {
			return fmt.Errorf("additionalProperties: %w", err)
		}
	}
	if items, ok := m["items"].(map[string]any); ok {
		if n.items, err = p.parse(items); err != nil {
			return fmt.Errorf("items: %w", err)
		}
	}
	return nil
}

func (p *parser) rules(n *node, s *members) error {
	r := rules{
		minimum: s.float("minimum"), maximum: s.float("maximum"), multipleOf: s.float("multipleOf"),
		exclusiveMin: s.flag("exclusiveMinimum"), exclusiveMax: s.flag("exclusiveMaximum"),
		minLength: s.int("minLength"), maxLength: s.int("maxLength"), minItems: s.int("minItems"), maxItems: s.int("maxItems"),
		minProps: s.int("minProperties"), maxProps: s.int("maxProperties"), unique: s.flag("uniqueItems"),
	}
	r.enum, _ = s.m["enum"].([]any)
	var err error
	if text := s.text("pattern"); text != "" {
		if r.pattern, err = newPattern(text); err != nil {
			return err
		}
	}
	for name, list := range map[string]*[]*node{"allOf": &r.allOf, "anyOf": &r.anyOf, "oneOf": &r.oneOf} {
		all, _ := s.m[name].([]any)
		for _, e := range all {
			c, err := p.parse(e)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			*list = append(*list, c)
		}
	}
	if e, ok := s.m["not"]; ok {
		if r.not, err = p.parse(e); err != nil {
			return fmt.Errorf("not: %w", err)
		}
	}
	if !r.empty() {
		n.rules = &r
	}
	return nil
}

func (r *rules) empty() bool {
	return r.enum == nil && r.minimum == nil && r.maximum == nil && r.multipleOf == nil && r.minLength == nil &&
		r.maxLength == nil && r.minItems == nil && r.maxItems == nil && r.minProps == nil && r.maxProps == nil &&
		!r.unique && r.pattern == nil && r.allOf == nil && r.anyOf == nil && r.oneOf == nil && r.not == nil
}

// members reads the members of a decoded object and notes the first of another
// type than it should be.
type members struct {
	m   map[string]any
	err error
}

func member[T any](s *members, name string) (T, bool) {
	var zero T
	v, ok := s.m[name]
	if !ok || v == nil {
		return zero, false
	}
	t, ok := v.(T)
	if !ok && s.err == nil {
		s.err = fmt.Errorf("%s: cannot be %s", name, wordOf(v))
	}
	return t, ok
}

func (s *members) text(name string) string { t, _ := member[string](s, name); return t }
func (s *members) flag(name string) bool   { t, _ := member[bool](s, name); return t }

func (s *members) texts(name string) []string {
	list, _ := member[[]any](s, name)
	var texts []string
	for _, e := range list {
		if t, ok := e.(string); ok {
			texts = append(texts, t)
		}
	}
	return texts
}

func (s *members) float(name string) *float64 {
	switch v := s.m[name].(type) {
	case int64:
		f := float64(v)
		return &f
	case float64:
		return &v
	}
	return nil
}

func (s *members) int(name string) *int64 {
	f := s.float(name)
	if f == nil || math.Abs(*f) > 1<<53 {
		return nil
	}
	n := int64(*f)
	return &n
}
