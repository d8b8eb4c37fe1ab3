package wire

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"

	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// TestYAMLInParts is the YAML of the whole.
func TestYAMLInParts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	names := strings.Fields("a b y n on null true items rows kind apiVersion metadata Items x1 1 a.b a-b é \u00b5")
	texts := []string{"", "x", "y", "1", "null", "- a", "a: b", "# c", "a\nb\n", " a", strings.Repeat("long text ", 20), strings.Repeat("x", 200), "\u2028", "'", "\""}
	var value func(depth int) any
	value = func(depth int) any {
		switch k := rnd.IntN(8 - 3*min(depth, 1) + 0); {
		case depth > 4 || k == 0:
			return texts[rnd.IntN(len(texts))]
		case k == 1:
			return []any{nil, true, int64(-7), 1.5, int64(1) << 60}[rnd.IntN(5)]
		case k < 5:
			list := []any{}
			for range rnd.IntN(4) {
				list = append(list, value(depth+1))
			}
			return list
		default:
			m := map[string]any{}
			for range rnd.IntN(5) {
				m[names[rnd.IntN(len(names)-6*rnd.IntN(2))]] = value(depth + 1)
			}
			return m
		}
	}
	parts := 0
	for range 5000 {
		b, err := schema.Encode(value(0))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := yaml.Unmarshal(b, &v); err != nil { // as kube-apiserver decodes it
			t.Fatal(err)
		}
		whole, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(whole), string(toYAML(b))); diff != "" {
			t.Fatalf("%s (-whole +parts):\n%s", b, diff)
		}
		if strings.HasPrefix(string(b), "{") && len(b) > 50 {
			parts++
		}
	}
	if parts < 500 {
		t.Error(fmt.Sprint("only ", parts, " objects of some size"))
	}
}

// TestYAMLOfOddText: the parser of YAML refuses the JSON of these.
func TestYAMLOfOddText(t *testing.T) {
	for _, text := range []string{"\x7f", "\u0080", "\ufffe", "\uffff", "\u0000", "\ufeff", strings.Repeat("k", 5000), strings.Repeat("k ", 5000)} {
		want := map[string]any{"a": text, "b": []any{text, map[string]any{text: text}}, text: map[string]any{text: []any{text}}}
		b, err := schema.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		out := toYAML(b)
		if len(text) > 1000 {
			continue // the parser refuses its own names of this length
		}
		j, _, err := FromYAML(out)
		if err != nil {
			t.Errorf("%.20q is %.200s: %v", text, out, err)
			continue
		}
		got, err := schema.Decode(j)
		if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
			t.Errorf("%.20q is %.200s: %v\n%s", text, out, err, diff)
		}
	}
}

// TestYAMLOfAHugeNumber, which only a recording can contain.
func TestYAMLOfAHugeNumber(t *testing.T) {
	if out := string(toYAML([]byte(`{"a":1e999}`))); !strings.HasPrefix(out, "a: ") {
		t.Errorf("it is %q", out)
	}
}
