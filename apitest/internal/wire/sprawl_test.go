package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/schema"
)

// TestIndentationIsLimited: of deep values, and of the lines into which YAML folds texts.
func TestIndentationIsLimited(t *testing.T) {
	deep := func(of string) []byte {
		return []byte(`{"x":` + strings.Repeat(`{"a":`, 240) + of + strings.Repeat("}", 240) + "}")
	}
	for what, b := range map[string][]byte{
		"numbers":  deep("[" + strings.Repeat("1,", 100_000) + "1]"),
		"objects":  deep("[" + strings.Repeat("{},", 100_000) + "1]"),
		"spaces":   deep(`"` + strings.Repeat("a ", 100_000) + `"`),
		"lines":    deep(`"` + strings.Repeat(`a\n`, 100_000) + `"`),
		"names":    deep(`{"` + strings.Repeat("a ", 100_000) + `":1}`),
		"brackets": []byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)),
	} {
		limit := indentFactor*len(b) + indentLeast + len(b)
		if out := Indented(b); len(out) > limit {
			t.Errorf("%s: %d bytes are %d when they are indented", what, len(b), len(out))
		}
		if what == "brackets" {
			continue // deeper than objects are
		}
		if out := toYAML(b); len(out) > limit {
			t.Errorf("%s: %d bytes are %d of YAML", what, len(b), len(out))
		}
	}
	for _, broken := range []string{`{"a`, `{"a\`, `{"`, `"`, ``} {
		Indented([]byte(broken)) // which is left as it is
	}
}

// TestIndentationIsCounted: what is counted is no less than what is written.
func TestIndentationIsCounted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	texts := []string{"", "a", "long text of words", strings.Repeat("words and ", 40), "a\nb\nc", strings.Repeat("a line\n", 9), " x ", "\u00e9\u2028"}
	var value func(depth int) any
	value = func(depth int) any {
		switch k := rnd.IntN(6); {
		case depth > 60 || k < 2:
			return texts[rnd.IntN(len(texts))]
		case k < 4:
			list := []any{value(depth + 1)}
			for range rnd.IntN(3) {
				list = append(list, value(60))
			}
			return list
		}
		m := map[string]any{texts[rnd.IntN(len(texts))]: value(depth + 1)}
		for range rnd.IntN(3) {
			m[texts[rnd.IntN(len(texts))]] = value(60)
		}
		return m
	}
	for range 3000 {
		b, err := schema.Encode(value(0))
		if err != nil {
			t.Fatal(err)
		}
		var pretty bytes.Buffer
		if json.Indent(&pretty, b, "", "  ") != nil || pretty.Len() > 2*len(b)+indentation(b, false) {
			t.Fatalf("%d bytes, of which %d are indentation, are %d", len(b), indentation(b, false), pretty.Len())
		}
		if out := toYAML(b); len(out) > 3*len(b)+indentation(b, true) {
			t.Fatalf("%s\n%d bytes, of which %d are indentation, are %d of YAML", b, len(b), indentation(b, true), len(out))
		}
	}
}
