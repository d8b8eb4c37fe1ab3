package schema

import (
	"errors"
	"fmt"
	"slices"
)

// mergeList merges the list in a patch into original, or deletes its elements
// from it. n is the element's schema.
func mergeList(original, patch []any, n *node, key string, deletes bool) ([]any, error) {
	if len(original) == 0 && len(patch) == 0 {
		return original, nil
	}
	objects, err := elements(original, patch)
	if err != nil {
		return nil, err
	}
	merged, original, patch, err := combine(original, patch, n, key, deletes, objects)
	if err != nil {
		return nil, err
	}
	return arrange(merged, patch, original, key, objects)
}

// combine is mergeList without an order: new elements are at the end. It also returns
// original without deleted elements, and patch without directives.
func combine(original, patch []any, n *node, key string, deletes, objects bool) (merged, kept, plain []any, err error) {
	switch {
	case !objects && deletes:
		return without(original, patch), original, patch, nil
	case !objects:
		return unique(append(slices.Clone(original), patch...)), original, patch, nil
	case key == "":
		return nil, nil, nil, errors.New("cannot merge lists without merge key for struct")
	}
	if kept, plain, err = obeyDirectives(original, patch, key); err != nil {
		return nil, nil, nil, err
	}
	merged, err = mergeElements(slices.Clone(kept), plain, n, key)
	return merged, kept, plain, err
}

// elements reports whether the elements of the lists are objects. They must be of
// one type.
func elements(lists ...[]any) (objects bool, err error) {
	var first any
	some := false
	for _, list := range lists {
		for _, e := range list {
			if !some {
				first, some = e, true
				if _, ok := e.([]any); ok {
					return false, errListOfLists
				}
			}
			if wordOf(e) != wordOf(first) || !sameNumber(e, first) {
				return false, fmt.Errorf("list element types are not identical: %v", fmt.Sprint(lists))
			}
		}
	}
	if !some {
		return false, errors.New("no elements in any of the given slices")
	}
	_, objects = first.(map[string]any)
	return objects, nil
}

// obeyDirectives does what the elements with $patch say, and returns original
// after that and patch without them.
func obeyDirectives(original, patch []any, key string) ([]any, []any, error) {
	plain := []any{}
	replace := false
	gone := make(map[any]bool)
	for _, e := range patch {
		m := e.(map[string]any)
		switch d, ok := m[directive]; {
		case !ok:
			plain = append(plain, e)
		case d == "delete":
			v, ok := m[key]
			if !ok {
				return nil, nil, errNoKey(m, key)
			}
			if scalar(v) {
				gone[v] = true
			}
		case d == "replace":
			replace = true
		case d == "merge":
			return nil, nil, errors.New("merging lists cannot yet be specified in the patch")
		default:
			return nil, nil, fmt.Errorf("unknown patch type: %s in map: %v", d, m)
		}
	}
	if replace {
		return plain, nil, nil
	}
	if len(gone) > 0 {
		original = slices.DeleteFunc(slices.Clone(original), func(e any) bool {
			v, ok := e.(map[string]any)[key]
			return ok && scalar(v) && gone[v]
		})
	}
	return original, plain, nil
}

// mergeElements merges each object of patch into the one with the same key.
func mergeElements(original, patch []any, n *node, key string) ([]any, error) {
	place := make(map[any]int)
	for i, e := range original {
		if v, ok := e.(map[string]any)[key]; ok && scalar(v) {
			if _, taken := place[v]; !taken {
				place[v] = i
			}
		}
	}
	for _, e := range patch {
		m := e.(map[string]any)
		v, ok := m[key]
		if !ok {
			return nil, errNoKey(m, key)
		}
		if !scalar(v) {
			original = append(original, e)
			continue
		}
		i, found := place[v]
		if !found {
			place[v] = len(original)
			original = append(original, e)
			continue
		}
		merged, err := mergeMap(original[i].(map[string]any), m, n)
		if err != nil {
			return nil, err
		}
		original[i] = merged
	}
	return original, nil
}

func without(list, gone []any) []any {
	drop := make(map[any]bool, len(gone))
	for _, e := range gone {
		if scalar(e) {
			drop[e] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(e any) bool { return scalar(e) && drop[e] })
}

func unique(list []any) []any {
	seen := make(map[any]bool, len(list))
	return slices.DeleteFunc(list, func(e any) bool {
		if !scalar(e) || seen[e] {
			return scalar(e)
		}
		seen[e] = true
		return false
	})
}

func errNoKey(m map[string]any, key string) error {
	return fmt.Errorf("map: %v does not contain declared merge key: %s", m, key)
}
