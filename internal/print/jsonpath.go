package print

import (
	"encoding/json"

	"github.com/listwatch/listwatch/jsonpath"
)

// compileJSONPath reads a template of kubectl's JSONPath. It prints no line break
// of its own.
func compileJSONPath(text string) (func(*Format) Encoder, error) {
	t, err := jsonpath.Parse(text)
	return expression(func(b []byte, v any, _ int, _ <-chan struct{}) ([]byte, error) { return t.Append(b, v) }).encoder(err)
}

// compileJSONPathAsJSON is compileJSONPath that prints each action's values as a
// JSON array.
func compileJSONPathAsJSON(text string) (func(*Format) Encoder, error) {
	t, err := jsonpath.Parse(text)
	return expression(func(b []byte, v any, _ int, _ <-chan struct{}) ([]byte, error) {
		found, err := t.Find(v)
		if err != nil {
			return b, err
		}
		out := b
		for _, values := range found {
			text, err := indentedValues(append([]any{}, values...))
			if err != nil {
				return b, err
			}
			out = append(append(out, text...), '\n')
		}
		return out, nil
	}).encoder(err)
}

// indentedValues encodes what an action leads to.
func indentedValues(values []any) ([]byte, error) {
	if deep(values) {
		return json.Marshal(values)
	}
	return json.MarshalIndent(values, "", "    ")
}
