package yamljson

import (
	"encoding/json"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Value converts n, a node of [Decoder.Node], as [Decoder.Value] does. Its aliases are
// expanded: n must be within limits.
func Value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return Value(n.Content[0])
	case yaml.AliasNode:
		return Value(n.Alias)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := Value(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return mapping(n)
	case yaml.ScalarNode:
		return scalar(n)
	}
	return nil, nil // an empty document
}

func mapping(n *yaml.Node) (any, error) {
	m := map[string]any{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Tag == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if k.Kind != yaml.ScalarNode {
			return nil, &Error{k.Line, "a key is not text"}
		}
		if _, twice := m[k.Value]; twice {
			return nil, &Error{k.Line, "a key occurs twice in one mapping"}
		}
		value, err := Value(v)
		if err != nil {
			return nil, err
		}
		m[k.Value] = value
	}
	for _, v := range merged {
		if err := merge(m, v); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// merge adds the members that n, the value of <<, leads to: a mapping, or a list of
// mappings of which the first counts. Members of m itself stay.
func merge(m map[string]any, n *yaml.Node) error {
	v, err := Value(n)
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
			return &Error{n.Line, "<< wants a mapping"}
		}
		for k, v := range from {
			if _, there := m[k]; !there {
				m[k] = v
			}
		}
	}
	return nil
}

func scalar(n *yaml.Node) (any, error) {
	wrong := &Error{n.Line, "a number or word that JSON has not"}
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
		if n.Decode(&i) == nil {
			return json.Number(strconv.FormatInt(i, 10)), nil
		}
		var u uint64
		if n.Decode(&u) == nil {
			return json.Number(strconv.FormatUint(u, 10)), nil
		}
		return nil, wrong
	case "!!float":
		var f float64
		if n.Decode(&f) != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, wrong
		}
		return f, nil
	}
	return n.Value, nil
}
