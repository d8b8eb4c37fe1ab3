package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// errYAML is YAML that no object can be made of.
var errYAML = errors.New("it cannot be an object")

// How deep a document may be, and how much its aliases may make of it.
const (
	yamlDepth   = 200
	yamlAliased = 100_000
)

// plainYAML returns a document as JSON has it: times stay text, and aliases do
// not grow without end.
func plainYAML(n *yaml.Node) (any, error) {
	c := plainer{left: yamlAliased}
	return c.node(n, 0)
}

// plainer converts one document.
type plainer struct {
	left    int // nodes that may still come from aliases
	aliased int // aliases around the present node
}

func (c *plainer) node(n *yaml.Node, depth int) (any, error) {
	if c.aliased > 0 {
		c.left--
	}
	if c.left < 0 || depth > yamlDepth {
		return nil, fmt.Errorf("%w: it is too deep or too large, at line %d", errYAML, n.Line)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return c.node(n.Content[0], depth)
	case yaml.AliasNode:
		c.aliased++
		defer func() { c.aliased-- }()
		return c.node(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := c.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		m := map[string]any{}
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Tag == "!!merge" {
				merged = append(merged, v)
				continue
			}
			if k.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%w: a key is not text, at line %d", errYAML, k.Line)
			}
			if _, twice := m[k.Value]; twice {
				return nil, fmt.Errorf("%w: a key stands twice, at line %d", errYAML, k.Line)
			}
			value, err := c.node(v, depth+1)
			if err != nil {
				return nil, err
			}
			m[k.Value] = value
		}
		for _, v := range merged {
			if err := c.merge(m, v, depth+1); err != nil {
				return nil, err
			}
		}
		return m, nil
	case yaml.ScalarNode:
		return plainScalar(n)
	}
	return nil, nil // an empty document
}

// merge adds what << leads to, a mapping or a list of them, of which the first
// counts; what stands in m itself stays.
func (c *plainer) merge(m map[string]any, n *yaml.Node, depth int) error {
	v, err := c.node(n, depth)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list {
		from, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%w: << wants a mapping, at line %d", errYAML, n.Line)
		}
		for k, v := range from {
			if _, there := m[k]; !there {
				m[k] = v
			}
		}
	}
	return nil
}

func plainScalar(n *yaml.Node) (any, error) {
	wrong := fmt.Errorf("%w: a number or word that JSON has not, at line %d", errYAML, n.Line)
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		if n.Decode(&b) != nil {
			return nil, wrong
		}
		return b, nil
	case "!!int":
		var i int64
		if n.Decode(&i) != nil {
			return nil, wrong
		}
		return json.Number(strconv.FormatInt(i, 10)), nil
	case "!!float":
		var f float64
		if n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, wrong
		}
		return f, nil
	}
	return n.Value, nil
}
