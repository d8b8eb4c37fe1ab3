package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// TestDefaultsAreLimited: an object with many elements gets no more values, and no more text, by
// the defaults of each.
func TestDefaultsAreLimited(t *testing.T) {
	values := func(n int) string {
		var props []string
		for i := range n {
			props = append(props, fmt.Sprintf(`"p%d":{"type":"integer","default":7}`, i))
		}
		return strings.Join(props, ",")
	}
	long := strings.Repeat("x", 1<<16-1)
	for _, c := range []struct {
		what, props string
		items       int
		fits        bool
	}{
		{"values", values(100), 100, true},
		{"none, of many properties,", strings.ReplaceAll(values(50_000), `,"default":7`, ""), 20_000, true},
		{"values", values(100), 101, false},
		{"values", values(400), 20_000, false},
		{"values of one default", `"a":{"type":"array","items":{"type":"integer"},"default":[` + strings.Repeat("1,", 998) + `1]}`, 10, true},
		{"values of one default", `"a":{"type":"array","items":{"type":"integer"},"default":[` + strings.Repeat("1,", 998) + `1]}`, 11, false},
		{"text", `"a":{"type":"string","default":"` + long + `"}`, 4, true},
		{"text", `"a":{"type":"string","default":"` + long + `"}`, 5, false},
		{"names", `"` + long + `x":{"type":"integer","default":1}`, 5, false},
	} {
		var catalog schema.Catalog
		typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{"x":{"type":"array","items":{"type":"object","properties":{`+c.props+`}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		var items []any
		for range c.items {
			items = append(items, map[string]any{})
		}
		if fits := typ.Default(map[string]any{"x": items}); fits != c.fits {
			t.Errorf("%s of %d elements fit: %v", c.what, c.items, fits)
		}
		set := 0
		for _, e := range items {
			set += len(e.(map[string]any))
		}
		if set > 10_000 {
			t.Errorf("%s of %d elements: %d were set", c.what, c.items, set)
		}
	}
}
