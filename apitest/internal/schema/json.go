package schema

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/apitest/internal/merge"
)

// Limits of the nesting of objects and lists, and of the reported unknown and duplicate fields.
const depthLimit, strictLimit = 500, 100

// mostShown limits the bytes of a name in errors.
const mostShown = causes.MostField

// Decode returns the JSON in b as map[string]any, []any, string, bool, nil, int64 or
// float64. Of members with the same name the last one counts. It refuses nesting deeper
// than 500.
func Decode(b []byte) (any, error) {
	return (&reader{b: b, blind: true}).read(nil)
}

// DecodeObject is Decode for an object.
func DecodeObject(b []byte) (map[string]any, error) {
	v, err := Decode(b)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("json: cannot unmarshal %s into Go value of type map[string]interface {}", wordOf(v))
	}
	return o, nil
}

// Copy returns a deep copy of v.
func Copy[T any](v T) T { c, _ := merge.Copy(v).(T); return c }
