package diff

import "strings"

// short is the end of a path that names a field, and which element of a list it is of.
func short(path string) string {
	i := strings.IndexAny(path, ".[")
	if i < 0 {
		return path
	}
	if path[i] == '[' { // such as data["nginx.conf"], or rules[0].verbs
		if name := key(path[i:]); name != path[i:] {
			return name
		}
		return path
	}
	at := path[i+1:]
	if element := strings.LastIndexByte(at, '['); element >= 0 {
		at = at[strings.LastIndexByte(at[:element], '.')+1:]
	}
	return at
}

// key is the key of a path such as ["nginx.conf"]; another path is as it is.
func key(path string) string {
	if name, ok := strings.CutPrefix(path, `["`); ok && strings.Count(path, "[") == 1 {
		return strings.TrimSuffix(name, `"]`)
	}
	return path
}
