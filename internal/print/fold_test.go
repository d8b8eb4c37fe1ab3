package print

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestLongLinesAreFoldedAsKubectlDoes(t *testing.T) {
	words := strings.Repeat("some words ", 9)
	got, err := yamlOf(map[string]any{
		"double": "\t" + words + " two  spaces",
		"list":   []any{words + "x", map[string]any{"key": words + "y"}},
		"long":   strings.Repeat("x", 100),
		"plain":  words + "z",
		"single": "- " + words + "it's",
		"text":   "a " + words + "x\nb\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `double: "\tsome words some words some words some words some words some words some
  words some words some words  two  spaces"
list:
- some words some words some words some words some words some words some words some
  words some words x
- key: some words some words some words some words some words some words some words
    some words some words y
long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
plain: some words some words some words some words some words some words some words
  some words some words z
single: '- some words some words some words some words some words some words some
  words some words some words it''s'
text: |
  a some words some words some words some words some words some words some words some words some words x
  b
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// FuzzFold: whatever is folded means what it meant.
func FuzzFold(f *testing.F) {
	long := strings.Repeat("word ", 30)
	for _, s := range []string{"", long, "- " + long, "it's: " + long, "\t" + long, long + "\n  " + long, "'" + long, `"` + long, "a" + strings.Repeat("  b", 40), strings.Repeat("x", 78) + "  " + long, "|-" + long} {
		f.Add("key", s)
		f.Add(s, "value")
		f.Add(s, long)
	}
	f.Fuzz(func(t *testing.T, key, s string) {
		if !utf8.ValidString(key + s) {
			return // JSON is valid
		}
		b, err := unfolded(map[string]any{"m": map[string]any{key: s, "z": []any{s, []any{s, map[string]any{key: s}}}}, "z": "end"})
		if err != nil {
			return
		}
		var want, got map[string]any
		if err := yaml.Unmarshal(b, &want); err != nil {
			return // it cannot read all that it writes
		}
		folded := fold(b)
		if err := yaml.Unmarshal(folded, &got); err != nil {
			t.Fatalf("%v\n%s", err, folded)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s\n%s", diff, folded)
		}
	})
}
