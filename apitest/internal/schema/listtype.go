package schema

import (
	"fmt"

	"github.com/listwatch/listwatch/kube"
)

// listCauses returns the elements that a list of type set or map has twice.
func listCauses(n *node, o map[string]any) []kube.StatusCause {
	var v validator
	v.lists("", n, o)
	return v.Causes
}

func (v *validator) lists(path string, n *node, value any) {
	if n == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range sortedKeys(value) {
			if p := n.props[name]; p != nil {
				v.lists(path+"."+short(name), p, value[name])
			} else if n.extra != nil {
				v.lists(path+"["+short(name)+"]", n.extra, value[name])
			}
		}
	case []any:
		switch n.listType {
		case "set":
			for _, i := range repeated(value) {
				v.duplicate(path, i, value[i])
			}
		case "map":
			v.keys(path, n.listKeys, value)
		}
		for i, e := range value {
			v.lists(fmt.Sprintf("%s[%d]", path, i), n.items, e)
		}
	}
}

func (v *validator) duplicate(path string, i int, value any) {
	v.add(fmt.Sprintf("%s[%d]", path, i), "Duplicate", "Duplicate value: %s", show(value))
}

func (v *validator) keys(path string, names []string, list []any) {
	keys := make([]any, len(list))
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok && e != nil {
			v.add(fmt.Sprintf("%s[%d]", path, i), "Invalid", "Invalid value: %s: must be an object for an array of list-type map", show(e))
			return
		}
		key := make(map[string]any)
		for _, name := range names {
			if k, ok := m[name]; ok {
				key[name] = k
			}
		}
		keys[i] = key
	}
	for _, i := range repeated(keys) {
		v.duplicate(path, i, keys[i])
	}
}

// repeated returns, for each value that list has more than once, where it stands
// for the second time.
func repeated(list []any) []int {
	var twice []int
	seen := make(map[any]int, len(list))
	for i, e := range list {
		type encoded string // not to be taken for a string
		if !scalar(e) {
			e = encoded(show(e))
		}
		if seen[e]++; seen[e] == 2 {
			twice = append(twice, i)
		}
	}
	return twice
}
