package record

import (
	"reflect"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/replay"
)

// MaskPair redacts both, and marks in now which values differ. Of one that was redacted
// before, as in a checkpoint, nobody knows whether it does.
func MaskPair(before, now map[string]any) {
	type value struct {
		of   map[string]any
		name string
	}
	var changed []value
	for _, part := range SecretParts {
		a, b := Inner(before, part.Path), Inner(now, part.Path)
		for k, v := range b {
			if was, had := a[k]; part.Holds(k) && had && was != Placeholder && !reflect.DeepEqual(was, v) {
				changed = append(changed, value{b, k})
			}
		}
	}
	RedactSecret(before)
	RedactSecret(now)
	for _, v := range changed {
		v.of[v.name] = "[redacted, changed]"
	}
}

// WithoutEnv returns o with the values of environment variables replaced, as record
// replaces them.
func WithoutEnv[T Raw](o T) (T, error) {
	full, err := codec.ParseRawFull(replay.Redact([]byte(o.JSON()), replay.Redaction{Env: true}))
	if err != nil {
		var none T
		return none, err
	}
	return RawAs[T](full.Raw), nil
}

// secretPart is an object whose members are secret, all or one.
type secretPart struct {
	Path []string
	only string
}

var SecretParts = []secretPart{{[]string{"data"}, ""}, {[]string{"stringData"}, ""}, {[]string{"metadata", "annotations"}, lastApplied}}

func (p secretPart) Holds(member string) bool { return p.only == "" || p.only == member }

func Inner(m map[string]any, path []string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}
