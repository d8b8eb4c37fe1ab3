package print

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference is one place in which two objects differ.
type difference struct {
	path     string // .status.conditions[type=Ready].status
	old, new any
	added    bool // there was nothing
	removed  bool // there is nothing
}

// differences returns where old and now differ, in the order of the names of
// members. The elements of lists are matched by what identifies them in
// Kubernetes, and else by their index; that they stand in another order is no
// difference then. Objects whose paths would take too much differ as a whole.
func differences(old, now any) []difference {
	if tangled(old, now) {
		return []difference{{path: ".", old: old, new: now}}
	}
	return compareAt(nil, "", old, now)
}

func compareAt(list []difference, path string, old, now any) []difference {
	switch old := old.(type) {
	case map[string]any:
		if now, ok := now.(map[string]any); ok {
			return compareObjects(list, path, old, now)
		}
	case []any:
		if now, ok := now.([]any); ok {
			return compareLists(list, path, old, now)
		}
	}
	if reflect.DeepEqual(old, now) {
		return list
	}
	return append(list, difference{path: path, old: old, new: now})
}

func compareObjects(list []difference, path string, old, now map[string]any) []difference {
	names := maps.Clone(old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := path + "." + strings.ReplaceAll(name, ".", `\.`)
		a, was := old[name]
		b, is := now[name]
		switch {
		case !was:
			list = append(list, difference{path: at, new: b, added: true})
		case !is:
			list = append(list, difference{path: at, old: a, removed: true})
		default:
			list = compareAt(list, at, a, b)
		}
	}
	return list
}

func compareLists(list []difference, path string, old, now []any) []difference {
	keys := keysOf(old, now)
	if keys == nil {
		for i := range max(len(old), len(now)) {
			at := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(old):
				list = append(list, difference{path: at, new: now[i], added: true})
			case i >= len(now):
				list = append(list, difference{path: at, old: old[i], removed: true})
			default:
				list = compareAt(list, at, old[i], now[i])
			}
		}
		return list
	}
	before, after := byKey(old, keys), byKey(now, keys)
	for _, e := range old {
		id := identity(e, keys)
		if b, still := after[id]; still {
			list = compareAt(list, path+id, e, b)
		} else {
			list = append(list, difference{path: path + id, old: e, removed: true})
		}
	}
	for _, e := range now {
		if id := identity(e, keys); before[id] == nil {
			list = append(list, difference{path: path + id, new: e, added: true})
		}
	}
	return list
}

// elementKeys are the members that identify an element, the likeliest first.
var elementKeys = [][]string{{"name"}, {"type"}, {"uid"}, {"ip", "port"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"ip"}, {"key"}, {"mountPath"}, {"topologyKey"}}

// keysOf returns the members that identify each element of both lists, nil if
// none do.
func keysOf(lists ...[]any) []string {
	for _, keys := range elementKeys {
		if identify(keys, lists) {
			return keys
		}
	}
	return nil
}

// identify reports whether keys tell the elements of each list apart, of which there
// must be one.
func identify(keys []string, lists [][]any) bool {
	some := false
	for _, list := range lists {
		seen := map[string]bool{}
		for _, e := range list {
			id := identity(e, keys)
			if id == "" || seen[id] {
				return false
			}
			seen[id], some = true, true
		}
	}
	return some
}

// identity is [type=Ready]; empty where a key is missing or no scalar.
func identity(e any, keys []string) string {
	m, ok := e.(map[string]any)
	if !ok {
		return ""
	}
	var parts []string
	for _, k := range keys {
		switch v := m[k].(type) {
		case nil, map[string]any, []any:
			return ""
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", k, v))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func byKey(list []any, keys []string) map[string]any {
	m := make(map[string]any, len(list))
	for _, e := range list {
		m[identity(e, keys)] = e
	}
	return m
}

// aligned returns old with the elements of its lists in the order of those of now,
// where they are matched by keys, so that a text of both shows changes only.
func aligned(old, now any) any {
	switch old := old.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		if !ok {
			return old
		}
		m := make(map[string]any, len(old))
		for k, v := range old {
			m[k] = aligned(v, now[k])
		}
		return m
	case []any:
		now, ok := now.([]any)
		if !ok {
			return old
		}
		keys := keysOf(old, now)
		if keys == nil {
			return old
		}
		before, after := byKey(old, keys), byKey(now, keys)
		list := make([]any, 0, len(old))
		next := 0        // of old
		gone := func() { // keep their place
			for ; next < len(old); next++ {
				id := identity(old[next], keys)
				if after[id] == nil {
					list = append(list, old[next])
				} else if before[id] != nil { // not moved yet
					return
				}
			}
		}
		for _, e := range now {
			gone()
			id := identity(e, keys)
			if e, was := before[id]; was {
				list = append(list, aligned(e, after[id]))
				delete(before, id)
			}
		}
		gone()
		return list
	}
	return old
}
