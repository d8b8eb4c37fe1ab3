package main

import (
	"reflect"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/replay"
)

// maskPair redacts both, and marks in now which values differ. Of one that was redacted
// before, as in a checkpoint, nobody knows whether it does.
func maskPair(before, now map[string]any) {
	type value struct {
		of   map[string]any
		name string
	}
	var changed []value
	for _, part := range secretParts {
		a, b := inner(before, part.path), inner(now, part.path)
		for k, v := range b {
			if was, had := a[k]; part.holds(k) && had && was != placeholder && !reflect.DeepEqual(was, v) {
				changed = append(changed, value{b, k})
			}
		}
	}
	redactSecret(before)
	redactSecret(now)
	for _, v := range changed {
		v.of[v.name] = "[redacted, changed]"
	}
}

// withoutEnv returns o with the values of environment variables replaced, as record
// replaces them.
func withoutEnv[T raw](o T) (T, error) {
	full, err := codec.ParseRawFull(replay.Redact([]byte(o.JSON()), replay.Redaction{Env: true}))
	if err != nil {
		var none T
		return none, err
	}
	return rawAs[T](full.Raw), nil
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
func (o *format) unseen(r *record, old codec.Raw) string {
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
