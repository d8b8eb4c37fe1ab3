package record

import (
	"reflect"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/secret"
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
	for _, part := range secret.Parts {
		a, b := part.In(before), part.In(now)
		for k, v := range b {
			if was, had := a[k]; part.Holds(k) && had && was != secret.Placeholder && !reflect.DeepEqual(was, v) {
				changed = append(changed, value{b, k})
			}
		}
	}
	secret.Redact(before)
	secret.Redact(now)
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
