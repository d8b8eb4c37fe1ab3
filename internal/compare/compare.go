// Package compare finds where two decoded objects differ, with the elements of their lists
// matched by what identifies them in Kubernetes.
package compare

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Path is where a value is: a member of an object, or an element of a list. It is nil for
// the root.
type Path struct {
	Up      *Path
	Member  string // name of the member, if Element is empty
	Element string // [type=Ready], or [3]
}

// Steps returns the path from the root on.
func (p *Path) Steps() []*Path {
	var steps []*Path
	for ; p != nil; p = p.Up {
		steps = append(steps, p)
	}
	slices.Reverse(steps)
	return steps
}

// Difference is one place in which two objects differ.
type Difference struct {
	Path     *Path
	Old, New any
	Added    bool // there was nothing
	Removed  bool // there is nothing
}

// Order is the last element of a path if only the order of a list's elements differs: Old and New
// name them then.
const Order = "[order]"

// Order reports whether it is the order of a list's elements that differs.
func (d Difference) Order() bool { return d.Path != nil && d.Path.Element == Order }

// Objects calls found for each place in which old and now differ, in the order of the
// names of members, until found returns false. The elements of lists are matched by what
// identifies them; that they stand in another order is one more difference, of the element
// [Order]. Other lists are compared as the lines of texts are: between equal elements, others
// were changed, removed (with the index in old) or added. Values more than depth levels below
// the root differ as a whole.
func Objects(old, now any, depth int, found func(Difference) bool) {
	(&comparison{depth: depth, found: found}).values(nil, 0, old, now)
}

type comparison struct {
	depth int
	found func(Difference) bool
}

// values, like the other methods, returns false where the comparison ends.
func (c *comparison) values(at *Path, level int, old, now any) bool {
	if level < c.depth {
		switch old := old.(type) {
		case map[string]any:
			if now, ok := now.(map[string]any); ok {
				return c.objects(at, level, old, now)
			}
		case []any:
			if now, ok := now.([]any); ok {
				return c.lists(at, level, old, now)
			}
		}
	}
	return reflect.DeepEqual(old, now) || c.found(Difference{Path: at, Old: old, New: now})
}

func (c *comparison) objects(at *Path, level int, old, now map[string]any) bool {
	names := slices.AppendSeq(make([]string, 0, len(old)), maps.Keys(old))
	for name := range now {
		if _, was := old[name]; !was {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, was := old[name]
		b, is := now[name]
		if !c.pair(&Path{Up: at, Member: name}, level, a, b, was, is) {
			return false
		}
	}
	return true
}

func (c *comparison) lists(at *Path, level int, old, now []any) bool {
	keys := keysOf(old, now)
	if keys == nil {
		i, j := 0, 0
		for _, s := range append(common(old, now), [2]int{len(old), len(now)}) {
			if !c.between(at, level, old[:s[0]], now[:s[1]], i, j) {
				return false
			}
			i, j = s[0]+1, s[1]+1
		}
		return true
	}
	before, after := byKey(old, keys), byKey(now, keys)
	var first, then []string // the elements of both, in the order of old and of now
	for _, e := range old {
		id := identity(e, keys)
		b, is := after[id]
		if !c.pair(&Path{Up: at, Element: id}, level, e, b, true, is) {
			return false
		}
		if is {
			first = append(first, id)
		}
	}
	for _, e := range now {
		id := identity(e, keys)
		if _, was := before[id]; was {
			then = append(then, id)
		} else if !c.pair(&Path{Up: at, Element: id}, level, nil, e, false, true) {
			return false
		}
	}
	return slices.Equal(first, then) ||
		c.found(Difference{Path: &Path{Up: at, Element: Order}, Old: names(old, keys), New: names(now, keys)})
}

// between compares what follows old[i] and now[j], by the order.
func (c *comparison) between(at *Path, level int, old, now []any, i, j int) bool {
	for ; i < len(old) || j < len(now); i, j = i+1, j+1 {
		var a, b any
		element := j
		if i < len(old) {
			a = old[i]
		}
		if j < len(now) {
			b = now[j]
		} else {
			element = i
		}
		if !c.pair(&Path{Up: at, Element: fmt.Sprintf("[%d]", element)}, level, a, b, i < len(old), j < len(now)) {
			return false
		}
	}
	return true
}

// pair compares what is at one place, if there was and is something.
func (c *comparison) pair(at *Path, level int, old, now any, was, is bool) bool {
	if was && is {
		return c.values(at, level+1, old, now)
	}
	return c.found(Difference{Path: at, Old: old, New: now, Added: !was, Removed: !is})
}
