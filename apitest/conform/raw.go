package conform

import (
	"encoding/json"
	"strconv"
)

// The types of patches.
const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// patch sends a patch of that type, for the object or subresource at path.
func (e *env) patch(kind, path, body string) *answer {
	e.Helper()
	return e.send("PATCH", path, body, "Content-Type", kind)
}

// raw is JSON with access by path.
type raw []byte

// at returns the value at a path of names and indexes, as JSON with sorted keys, or ""
// if there is none.
func (r raw) at(path ...string) string {
	var v any
	if json.Unmarshal(r, &v) != nil {
		return ""
	}
	for _, step := range path {
		switch parent := v.(type) {
		case map[string]any:
			child, ok := parent[step]
			if !ok {
				return ""
			}
			v = child
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(parent) {
				return ""
			}
			v = parent[i]
		default:
			return ""
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has just been decoded
	}
	return string(b)
}

// word is like at, for a string.
func (r raw) word(path ...string) string {
	s, err := strconv.Unquote(r.at(path...))
	if err != nil {
		return ""
	}
	return s
}

// at returns the value at a path of the response.
func (a *answer) at(path ...string) string { return raw(a.body).at(path...) }

// word is like at, for a string.
func (a *answer) word(path ...string) string { return raw(a.body).word(path...) }

// revision returns the resourceVersion of the answer.
func (a *answer) revision() string { return a.word("metadata", "resourceVersion") }

// get returns the object at path.
func (e *env) get(path string) *answer {
	e.Helper()
	return e.send("GET", path, "").want(200)
}
