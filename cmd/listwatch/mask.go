package main

import (
	"reflect"

	"github.com/listwatch/listwatch/codec"
)

// maskPair masks what a Secret holds so that what differs still does. Of a value
// that is masked already, as in a checkpoint, nobody knows whether it does.
func maskPair(before, now map[string]any) {
	for _, part := range secretParts {
		a, b := inner(before, part.path), inner(now, part.path)
		for k, v := range b {
			if !part.holds(k) {
				continue
			}
			was, had := a[k]
			b[k] = placeholder
			if had && was != placeholder && !reflect.DeepEqual(was, v) {
				b[k] = "[redacted, changed]"
			}
		}
		for k := range a {
			if part.holds(k) {
				a[k] = placeholder
			}
		}
	}
}

// secretPart is an object whose members are secret, all or one.
type secretPart struct {
	path []string
	only string
}

var secretParts = []secretPart{{[]string{"data"}, ""}, {[]string{"stringData"}, ""}, {[]string{"metadata", "annotations"}, lastApplied}}

func (p secretPart) holds(member string) bool { return p.only == "" || p.only == member }

func inner(m map[string]any, path []string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// unseen says why nothing is shown of a change.
func (o *output) unseen(r *record, old codec.Raw) string {
	if o.redact && isSecret(r.resource) {
		before, err := r.decode(old, false)
		for _, part := range secretParts {
			for k, v := range inner(before, part.path) {
				if err == nil && part.holds(k) && v == placeholder {
					return " (in nothing that the checkpoint holds: of Secrets it has no values)"
				}
			}
		}
	}
	return " (only in fields that are ignored)"
}
