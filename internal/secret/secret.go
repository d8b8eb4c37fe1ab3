// Package secret knows which values of a Secret are secret, and replaces them.
package secret

import "github.com/listwatch/listwatch/kube"

// Placeholder stands where a secret stood.
const Placeholder = "[redacted]"

// LastApplied is the annotation of kubectl apply, which repeats the object.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Is reports whether r holds secrets by its kind.
func Is(r kube.Resource) bool { return r.Group == "" && r.Kind == "Secret" }

// Part is an object whose members are secret, all or one.
type Part struct {
	path []string
	only string
}

// Parts are those of a Secret.
var Parts = []Part{{[]string{"data"}, ""}, {[]string{"stringData"}, ""}, {[]string{"metadata", "annotations"}, LastApplied}}

// Holds reports whether a member is secret.
func (p Part) Holds(member string) bool { return p.only == "" || p.only == member }

// In returns the part of m, nil where it has none.
func (p Part) In(m map[string]any) map[string]any {
	for _, name := range p.path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// Redact replaces the values of a Secret, whose keys stay.
func Redact(m map[string]any) {
	Replace(m, func(string, any) string { return Placeholder })
}

// Replace replaces the values of a Secret by their marks. Data that is no object has one
// mark, without a key.
func Replace(m map[string]any, mark func(key string, value any) string) {
	for _, field := range []string{"data", "stringData"} {
		switch values := m[field].(type) {
		case map[string]any:
			for k, v := range values {
				values[k] = mark(k, v)
			}
		case nil:
		default:
			m[field] = mark("", values)
		}
	}
	meta, _ := m["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	if v, ok := notes[LastApplied]; ok {
		notes[LastApplied] = mark(LastApplied, v)
	}
}
