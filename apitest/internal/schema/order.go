package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mergeOrdered merges the lists that $setElementOrder names, and takes both from
// patch.
func mergeOrdered(original, patch map[string]any, n *node) error {
	for _, directive := range sortedKeys(patch) {
		name, ok := strings.CutPrefix(directive, elementOrder)
		if !ok {
			continue
		}
		order, ok := patch[directive].([]any)
		if !ok {
			return fmt.Errorf("expected a []interface {}, but received a %s", goType(patch[directive]))
		}
		delete(patch, directive)
		old, hadOld := original[name]
		change, hasChange := patch[name]
		oldList, isList := old.([]any)
		if hadOld && !isList {
			return fmt.Errorf("expected a []interface {}, but received a %s", goType(old))
		}
		list, isList := change.([]any)
		if hasChange && !isList {
			return fmt.Errorf("expected a []interface {}, but received a %s", goType(change))
		}
		child, _ := n.member(name)
		strategy, key := child.merging()
		if err := checkOrder(list, order, key); err != nil {
			return err
		}
		if !hadOld && !hasChange {
			continue
		}
		objects, err := elements(oldList, list)
		if err != nil {
			return err
		}
		merged := oldList
		switch {
		case !hadOld:
			v, _ := withoutDirectives(list)
			merged = v.([]any)
		case hasChange && strategy != "merge":
			merged = list
		case hasChange:
			if merged, _, _, err = combine(oldList, list, child.element(), key, false, objects); err != nil {
				return err
			}
			oldList = merged[:min(len(merged), len(oldList))] // kube-apiserver merges in place
		}
		if original[name], err = arrange(merged, order, oldList, key, objects); err != nil {
			return err
		}
		delete(patch, name)
	}
	return nil
}

// checkOrder refuses a list whose elements are not in order.
func checkOrder(list, order []any, key string) error {
	if len(list) == 0 || len(order) == 0 {
		return nil
	}
	at := 0
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m[directive] != nil {
			continue
		}
		v, err := keyOf(e, key)
		if err != nil {
			return err
		}
		for ; at < len(order); at++ {
			o, err := keyOf(order[at], key)
			if err != nil {
				return err
			}
			if scalar(v) && scalar(o) && v == o {
				break
			}
		}
		if at == len(order) {
			return internal("The order in patch list:\n%v\n doesn't match %s list:\n%v\n", list, strings.TrimSuffix(elementOrder, "/"), order)
		}
		at++
	}
	return nil
}

// arrange puts merged in order: what is in patch as there, the rest as in
// original, and the rest before what followed it there.
func arrange(merged, patch, original []any, key string, objects bool) ([]any, error) {
	if !objects {
		key = ""
	}
	inPatch, err := places(patch, key)
	if err != nil {
		return nil, err
	}
	inOriginal, err := places(original, key)
	if err != nil {
		return nil, err
	}
	type item struct{ v, key any }
	var ours, rest []item
	for _, e := range merged {
		k, err := keyOf(e, key)
		if err != nil {
			return nil, err
		}
		if _, ok := inPatch[k]; ok {
			ours = append(ours, item{e, k})
		} else {
			rest = append(rest, item{e, k})
		}
	}
	by := func(order map[any]int) func(a, b item) int {
		return func(a, b item) int { return cmp.Compare(order[a.key], order[b.key]) }
	}
	slices.SortStableFunc(ours, by(inPatch))
	slices.SortStableFunc(rest, by(inOriginal))
	all := make([]any, 0, len(merged))
	for len(ours) > 0 || len(rest) > 0 {
		first := len(ours) == 0
		if len(ours) > 0 && len(rest) > 0 {
			a, ok := inOriginal[rest[0].key]
			b, ok2 := inOriginal[ours[0].key]
			first = ok && ok2 && a < b
		}
		if first {
			all, rest = append(all, rest[0].v), rest[1:]
		} else {
			all, ours = append(all, ours[0].v), ours[1:]
		}
	}
	return all, nil
}

// places maps the key of each element to its first place.
func places(list []any, key string) (map[any]int, error) {
	m := make(map[any]int, len(list))
	for i, e := range list {
		k, err := keyOf(e, key)
		if err != nil {
			return nil, err
		}
		if _, ok := m[k]; !ok {
			m[k] = i
		}
	}
	return m, nil
}

// keyOf returns the key of e: itself, or its merge key.
func keyOf(e any, key string) (any, error) {
	if key != "" {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("expected a map[string]interface {}, but received a %s", goType(e))
		}
		if e, ok = m[key]; !ok {
			return nil, errNoKey(m, key)
		}
	}
	if !scalar(e) {
		return fmt.Sprint(e), nil
	}
	return e, nil
}

// scalar reports whether v can be the key of a Go map.
func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
