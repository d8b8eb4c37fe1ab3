package compare

import (
	"fmt"
	"strings"
)

// elementKeys are the members that identify an element, the likeliest first.
var elementKeys = [][]string{{"name"}, {"type"}, {"uid"}, {"ip", "port"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"ip"}, {"key"}, {"mountPath"}, {"topologyKey"}, {"path"}, {"containerPort"}, {"port"}}

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

// identify reports whether keys differ for the elements of each list. There must be at
// least one element.
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

// names returns the elements of a list as "a, b", or "port=80,protocol=TCP, port=...".
func names(list []any, keys []string) string {
	var all []string
	for _, e := range list {
		id := strings.Trim(identity(e, keys), "[]")
		if len(keys) == 1 {
			id = strings.TrimPrefix(id, keys[0]+"=")
		}
		all = append(all, id)
	}
	return strings.Join(all, ", ")
}

func byKey(list []any, keys []string) map[string]any {
	m := make(map[string]any, len(list))
	for _, e := range list {
		m[identity(e, keys)] = e
	}
	return m
}
