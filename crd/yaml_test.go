package crd

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestYAMLHasTheValuesOfTheJSON(t *testing.T) {
	want := map[string]any{
		"text": []any{"", ".5", ".", "..", "/", "a: b", "a #b", "- a", "true", "No", "null", "~", "1e3", "0x1", "2026-01-02", "a\nb\n", " a", "a ", `"`, "'", "é", "\t", "a:", "*a", "&a", "!a", "%a", "@a", "|", ">", "=", "<<", ".inf", ".NaN", "y", "a,b", "[a", "\u2028"},
		"map":  map[string]any{"": 1, "a: b": true, "on": nil, "empty": map[string]any{}, "list": []any{}},
		"list": []any{[]any{"a", []any{}, []any{"b"}}, map[string]any{"x": []any{map[string]any{"y": 1.5, "z": "w"}}, "y": 2}},
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yamlOf(b)
	if err != nil {
		t.Fatal(err)
	}
	var y any
	if err := yaml.Unmarshal(text, &y); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, err := json.Marshal(y)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
}
