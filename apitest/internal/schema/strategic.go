package schema

import (
	"fmt"
	"strings"
)

const (
	directive      = "$patch"
	retainKeys     = "$retainKeys"
	elementOrder   = "$setElementOrder/"
	deleteFromList = "$deleteFromPrimitiveList/"
)

// StrategicMerge merges a strategic merge patch into an object of a built-in type and
// returns the result. Neither original nor patch is changed, and the result shares
// nothing with them. It is not pruned: the patch may have fields that t does not have.
// The error is a *kube.Status. See
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md.
func (t *Type) StrategicMerge(original, patch map[string]any) (map[string]any, error) {
	if !t.builtIn {
		return nil, badRequest("strategic merge patch format is not supported")
	}
	merged, err := mergeMap(Copy(original), Copy(patch), t.root)
	if err != nil {
		return nil, asStatus(err)
	}
	return merged, nil
}

// mergeMap merges patch into original. It changes both.
func mergeMap(original, patch map[string]any, n *node) (map[string]any, error) {
	if d, ok := patch[directive]; ok {
		switch d {
		case "replace":
			delete(patch, directive)
			return patch, nil
		case "delete":
			return map[string]any{}, nil
		}
		return nil, fmt.Errorf("unknown patch type: %s in map: %v", d, patch)
	}
	if original == nil {
		original = map[string]any{}
	}
	if err := retain(original, patch); err != nil {
		return nil, err
	}
	if err := mergeOrdered(original, patch, n); err != nil {
		return nil, err
	}
	for _, name := range sortedKeys(patch) {
		if err := mergeMember(original, name, patch[name], n); err != nil {
			return nil, err
		}
	}
	return original, nil
}

// mergeMember merges one member of a patch into original.
func mergeMember(original map[string]any, name string, value any, n *node) error {
	deletes := false
	if strings.HasPrefix(name, deleteFromList) {
		name, deletes = strings.TrimPrefix(name, deleteFromList), true
	}
	if value == nil {
		delete(original, name)
		return nil
	}
	old, ok := original[name]
	if !ok || wordOf(old) != wordOf(value) || !sameNumber(old, value) {
		if !deletes {
			put(original, name, withoutNulls(value))
		}
		return nil
	}
	child, _ := n.member(name)
	strategy, key := child.merging()
	var err error
	switch value := value.(type) {
	case map[string]any:
		if strategy == "replace" {
			original[name] = value
			return nil
		}
		original[name], err = mergeMap(old.(map[string]any), value, child)
	case []any:
		if !deletes && strategy != "merge" {
			original[name] = value
			return nil
		}
		original[name], err = mergeList(old.([]any), value, child.element(), key, deletes)
	default:
		original[name] = value
	}
	return err
}

// sameNumber is false for an integer and a fraction: they count as two types.
func sameNumber(a, b any) bool {
	_, x := a.(int64)
	_, y := b.(int64)
	return x == y
}

// merging returns how a patch treats the field, and by which key.
func (n *node) merging() (strategy, key string) {
	if n == nil {
		return "", ""
	}
	for _, s := range n.strategies {
		if s != "retainKeys" {
			strategy = s
		}
	}
	return strategy, n.mergeKey
}

func (n *node) element() *node {
	if n = n.target(); n == nil {
		return nil
	}
	return n.items
}

// put sets a member to a value of a patch that meets nothing in the original.
func put(original map[string]any, name string, value any) {
	if value, keep := withoutDirectives(value); keep {
		original[name] = value
	} else {
		delete(original, name)
	}
}

// withoutNulls drops the null members in v.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			if e == nil {
				delete(v, name)
			} else {
				withoutNulls(e)
			}
		}
	case []any:
		for _, e := range v {
			withoutNulls(e)
		}
	}
	return v
}

// withoutDirectives drops the objects that carry $patch from v, which may be one
// itself.
func withoutDirectives(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[directive]; ok {
			return nil, false
		}
		for name, e := range v {
			put(v, name, e)
		}
		return v, true
	case []any:
		kept := []any{}
		for _, e := range v {
			if e, keep := withoutDirectives(e); keep {
				kept = append(kept, e)
			}
		}
		return kept, true
	}
	return v, true
}

// retain applies $retainKeys: it removes all other members.
func retain(original, patch map[string]any) error {
	v, ok := patch[retainKeys]
	if !ok {
		return nil
	}
	delete(patch, retainKeys)
	list, ok := v.([]any)
	if !ok {
		return errRetainKeys
	}
	keep := make(map[string]bool)
	for _, e := range list {
		if s, ok := e.(string); ok {
			keep[s] = true
		}
	}
	for name, e := range patch {
		if e != nil && !keep[name] && !strings.HasPrefix(name, deleteFromList) && !strings.HasPrefix(name, elementOrder) {
			return errRetainKeys
		}
	}
	for name := range original {
		if !keep[name] {
			delete(original, name)
		}
	}
	return nil
}
