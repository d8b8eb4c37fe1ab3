package schema

import "slices"

// Prune removes the fields of o that t does not have and returns their paths, in
// kube-apiserver's order: "spec.list[0].c". For custom resources it respects
// x-kubernetes-preserve-unknown-fields and x-kubernetes-embedded-resource.
func (t *Type) Prune(o map[string]any) []string {
	var p pruner
	if t.builtIn {
		p.typed(t.root, o)
		slices.Sort(p.dropped)
		return p.dropped
	}
	p.meta = t.meta
	p.metadata(o)
	p.root = true
	p.structural(t.root, o)
	slices.Sort(p.dropped[p.fixed:])
	p.fixed = len(p.dropped)
	p.embedded(t.root, o)
	slices.Sort(p.dropped[p.fixed:])
	return p.dropped
}

type pruner struct {
	meta    *node
	root    bool // the value is the object itself
	path    path
	dropped []string
	fixed   int // dropped[:fixed] are in their final order
}

func (p *pruner) drop(o map[string]any, name string) {
	p.path.push(name)
	p.dropped = append(p.dropped, p.path.String())
	p.path.pop()
	delete(o, name)
}

// typed prunes a value of a built-in type.
func (p *pruner) typed(n *node, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			child, known := n.member(name)
			if !known {
				p.drop(v, name)
				continue
			}
			if n.omits(name, e) {
				delete(v, name)
				continue
			}
			if child != nil {
				p.path.push(name)
				p.typed(child, e)
				p.path.pop()
			}
		}
	case []any:
		if items := n.target().items; items != nil {
			for i, e := range v {
				p.path.index(i)
				p.typed(items, e)
				p.path.pop()
			}
		}
	}
}

// metadata prunes the ObjectMeta in o.
func (p *pruner) metadata(o map[string]any) {
	if meta, ok := o["metadata"].(map[string]any); ok {
		p.path.push("metadata")
		p.typed(p.meta, meta)
		p.path.pop()
		slices.Sort(p.dropped[p.fixed:])
		p.fixed = len(p.dropped)
	}
}

func metaField(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

// structural prunes a value of a custom resource; n is nil where nothing is known.
func (p *pruner) structural(n *node, v any) {
	root := p.root
	p.root = false
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if (root || n != nil && n.embedded) && metaField(name) {
				continue
			}
			var child *node
			if n != nil {
				child = n.props[name]
			}
			if child == nil && n != nil && (n.extra != nil || n.extraAny) {
				child = n.extra // true: its content is not known, and goes
			} else if child == nil {
				if n == nil || !n.preserve {
					p.drop(v, name)
				}
				continue
			}
			p.path.push(name)
			p.structural(child, e)
			p.path.pop()
		}
	case []any:
		for i, e := range v {
			p.path.index(i)
			switch {
			case n == nil:
				p.structural(nil, e)
			case n.preserve && n.items == nil: // anything goes
			default:
				p.structural(n.items, e)
			}
			p.path.pop()
		}
	}
}

// embedded prunes the metadata of objects within a custom resource.
func (p *pruner) embedded(n *node, v any) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if n.embedded && len(p.path.ends) > 0 {
			if meta, ok := v["metadata"].(map[string]any); ok {
				p.path.push("metadata")
				p.typed(p.meta, meta)
				p.path.pop()
			}
		}
		for name, e := range v {
			child := n.props[name]
			if child == nil {
				child = n.extra
			}
			if child != nil {
				p.path.push(name)
				p.embedded(child, e)
				p.path.pop()
			}
		}
	case []any:
		for i, e := range v {
			p.path.index(i)
			p.embedded(n.items, e)
			p.path.pop()
		}
	}
}
