package schema

import (
	"reflect"
	"slices"
	"sort"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// compare returns the fields in which is differs from was, with the result of
// structured-merge-diff's comparison. It skips unchanged fields, nearly all of an
// object, and so takes a small part of the library's time.
//
// was must be of t. It reports false, and leaves it to the library, where is may
// not be of t, and for what is rare: an element twice in a list, a value that takes
// another form.
func (t *Type) compare(was, is map[string]any) (*typed.Comparison, bool) {
	d := t.described()
	c := comparer{description: d, ok: true,
		found: &typed.Comparison{Added: &fieldpath.Set{}, Modified: &fieldpath.Set{}, Removed: &fieldpath.Set{}}}
	c.values(d.root, was, is)
	return c.found, c.ok
}

// comparer looks for the fields that differ.
type comparer struct {
	*description
	path  []step // to the values that are compared
	found *typed.Comparison
	ok    bool // nothing was met that the library must decide
}

// values compares two values that are there.
func (c *comparer) values(f field, was, is any) {
	if !c.ok || was == nil && is == nil || identical(was, is) {
		return
	}
	atom, ok := c.form(f, is)
	if before, known := c.form(f, was); !ok || !known || before != atom {
		c.ok = false
		return
	}
	switch {
	case atom.Map != nil && atom.Map.ElementRelationship != smd.Atomic:
		a, b := c.mapOf(f, was), c.mapOf(f, is)
		if !a.empty() || !b.empty() {
			c.maps(atom.Map, a, b)
			return
		}
	case atom.List != nil && atom.List.ElementRelationship == smd.Associative:
		a, _ := was.([]any)
		b, _ := is.([]any)
		if len(a)+len(b) > 0 {
			if !equal(was, is) {
				c.lists(f.elementsOf(atom.List), a, b)
			}
			return
		}
	}
	c.leaf(f, was, is)
}

// leaf compares two values that have one owner, with all that is in them.
func (c *comparer) leaf(f field, was, is any) {
	switch {
	case equal(was, is):
		return
	case !c.fits(f, is):
		c.ok = false
		return
	case f.node != nil:
		was, is = complete(f.node, was), complete(f.node, is)
	}
	if !value.Equals(value.NewValueInterface(was), value.NewValueInterface(is)) { // 1 and 1.0 are
		c.insert(c.found.Modified)
	}
}

func (c *comparer) maps(m *smd.Map, was, is completed) {
	for name, v := range is.all {
		f := is.field.member(m, name)
		c.path = append(c.path, step{name: name})
		if before, ok := was.get(name); ok {
			c.values(f, before, v)
		} else {
			c.whole(c.found.Added, f, v)
		}
		c.path = c.path[:len(c.path)-1]
	}
	for name, v := range was.all {
		if _, ok := is.get(name); ok {
			continue
		}
		c.path = append(c.path, step{name: name})
		c.whole(c.found.Removed, was.field.member(m, name), v)
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *comparer) lists(l elementType, was, is []any) {
	was, is = c.ordered(&l, was), c.ordered(&l, is)
	places := make(map[string]int, len(was)) // in was and, behind that, in is
	key := make([]byte, 0, 64)
	for i, v := range was {
		if key, c.ok = c.appendKey(key[:0], l, v); !c.ok {
			return
		}
		places[string(key)] = i
	}
	if len(places) < len(was) {
		c.ok = false // one of them twice
		return
	}
	seen := make([]bool, len(was))
	for i, v := range is {
		if key, c.ok = c.appendKey(key[:0], l, v); !c.ok {
			return
		}
		at, found := places[string(key)]
		if found && (at >= len(was) || seen[at]) {
			c.ok = false // twice
			return
		}
		c.path = append(c.path, step{list: &l, v: v})
		if found {
			seen[at] = true
			c.values(l.field, was[at], v)
		} else {
			places[string(key)] = len(was) + i
			c.whole(c.found.Added, l.field, v)
		}
		c.path = c.path[:len(c.path)-1]
		if !c.ok {
			return
		}
	}
	for i, v := range was {
		if !seen[i] {
			c.path = append(c.path, step{list: &l, v: v})
			c.whole(c.found.Removed, l.field, v)
			c.path = c.path[:len(c.path)-1]
		}
	}
}

// whole notes that the value at the path, with all that is in it, is new or gone.
func (c *comparer) whole(in *fieldpath.Set, f field, v any) {
	if !c.ok {
		return
	}
	var below fieldpath.Set
	c.cover(&below, f, v)
	last := c.insert(in)
	if below.Members.Size() > 0 {
		*c.parent(in).Children.Descend(last) = below
	}
}

// insert adds the path to a set, and returns its last element.
func (c *comparer) insert(in *fieldpath.Set) fieldpath.PathElement {
	last := c.element(&c.path[len(c.path)-1])
	c.parent(in).Members.Insert(last)
	return last
}

// parent returns the part of a set in which the value at the path is.
func (c *comparer) parent(in *fieldpath.Set) *fieldpath.Set {
	for i := range len(c.path) - 1 {
		in = in.Children.Descend(c.element(&c.path[i]))
	}
	return in
}

// cover adds to set the fields in v.
func (c *comparer) cover(set *fieldpath.Set, f field, v any) {
	if !c.ok {
		return
	}
	atom, ok := c.form(f, v)
	switch {
	case v == nil:
		c.ok = c.fits(f, v)
	case !ok:
		c.ok = false
	case atom.Map != nil && atom.Map.ElementRelationship != smd.Atomic:
		m := c.mapOf(f, v)
		for name, e := range m.all {
			c.add(set, fieldpath.PathElement{FieldName: &name}, f.member(atom.Map, name), e)
		}
	case atom.List != nil && atom.List.ElementRelationship == smd.Associative:
		l := f.elementsOf(atom.List)
		for _, e := range c.ordered(&l, v.([]any)) {
			_, fits := c.appendKey(nil, l, e)
			pe := c.element(&step{list: &l, v: e})
			if c.ok = fits && !set.Members.Has(pe); !c.ok { // or it is there twice
				return
			}
			c.add(set, pe, l.field, e)
		}
	default:
		c.ok = c.fits(f, v)
	}
}

func (c *comparer) add(set *fieldpath.Set, pe fieldpath.PathElement, f field, v any) {
	var below fieldpath.Set
	c.cover(&below, f, v)
	set.Members.Insert(pe)
	if below.Members.Size() > 0 {
		*set.Children.Descend(pe) = below
	}
}

// ordered returns a list, in order where the elements are many.
func (c *comparer) ordered(l *elementType, list []any) []any {
	if len(list) <= many {
		return list
	}
	steps := make([]step, len(list))
	for i, v := range list {
		steps[i] = step{list: l, v: v}
		c.element(&steps[i])
	}
	sort.Slice(steps, func(a, b int) bool { return steps[a].made.Less(steps[b].made) })
	list = slices.Clone(list)
	for i, s := range steps {
		list[i] = s.v
	}
	return list
}

// A step leads from a value into one of its parts. What the library wants of it is
// made when it is asked for: most fields are as they were.
type step struct {
	name string       // of a field,
	list *elementType // or the list
	v    any          // and the element
	made fieldpath.PathElement
}

func (c *comparer) element(s *step) fieldpath.PathElement {
	switch {
	case s.made != fieldpath.PathElement{}:
	case s.list == nil:
		name := s.name // the path's place is used again
		s.made.FieldName = &name
	case len(s.list.Keys) == 0:
		v := value.NewValueInterface(s.v)
		s.made.Value = &v
	default:
		var keys value.FieldList
		for _, name := range s.list.Keys {
			if v, ok := c.keyValue(*s.list, s.v, name); ok {
				keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(v)})
			}
		}
		keys.Sort()
		s.made.Key = &keys
	}
	return s.made
}

// identical reports whether two objects are one.
func identical(a, b any) bool {
	m, ok := a.(map[string]any)
	n, also := b.(map[string]any)
	return ok && also && len(m) == len(n) && reflect.ValueOf(m).Pointer() == reflect.ValueOf(n).Pointer()
}

// equal reports whether two decoded values are the same.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if other, ok := b[name]; !ok || !equal(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, v := range a {
			if !equal(v, b[i]) {
				return false
			}
		}
		return true
	}
	return a == b // no panic: b is compared only if its type is that of a
}
