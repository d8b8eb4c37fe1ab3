package jsonpath

import (
	"encoding/json"
	"fmt"
)

// Append appends what t prints of v to b: text as it is, the values of an action
// with spaces between, objects and lists as JSON. On an error b is returned as it
// was. What descents (..) print is limited as [Template.Find] says.
func (t *Template) Append(b []byte, v any) ([]byte, error) {
	out := b
	err := t.run(v, func(n *node, values []any) error {
		for i, v := range values {
			if i > 0 {
				out = append(out, ' ')
			}
			text, err := Text(v)
			if err != nil {
				return fmt.Errorf("jsonpath: %w", err)
			}
			out = append(out, text...)
		}
		return nil
	})
	if err != nil {
		return b, err
	}
	return out, nil
}

// Text prints one value as kubectl does.
func Text(v any) (string, error) {
	switch v := plain(v).(type) {
	case nil:
		return "null", nil
	case map[string]any, []any:
		b, err := json.Marshal(v)
		return string(b), err
	default:
		return fmt.Sprint(v), nil
	}
}
