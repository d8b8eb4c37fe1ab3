package schema_test

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// TestErrorsAreLimited: in number and in bytes, whatever they repeat, and what comes after the
// last one costs nothing.
func TestErrorsAreLimited(t *testing.T) {
	name, required := strings.Repeat("k", 1_000_000), strings.Repeat(`"long name of a property",`, 50_000)
	elements := func(of string, n int) string { return "[" + strings.Repeat(of+",", n) + of + "]" }
	for _, c := range []struct{ what, x, body string }{
		{"of another type below a long name", `"additionalProperties":{"type":"array","items":{"type":"integer"}}`, `{"` + name + `":` + elements(`""`, 5000) + `}`},
		{"unknown below a long name", `"additionalProperties":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}}`, `{"` + name + `":` + elements(`{"a":1}`, 5000) + `}`},
		{"required", `"properties":{"y":{"type":"array","items":{"type":"object","required":[` + strings.TrimSuffix(required, ",") + `]}}}`, `{"y":` + elements("{}", 20_000) + `}`},
		{"of an enum", `"properties":{"y":{"type":"array","items":{"type":"string","enum":[` + strings.TrimSuffix(required, ",") + `]}}}`, `{"y":` + elements(`"a"`, 5000) + `}`},
	} {
		var catalog schema.Catalog
		typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{"x":{"type":"object",`+c.x+`}}}`))
		if err != nil {
			t.Fatal(err)
		}
		o, strict, err := typ.Read([]byte(`{"x":` + c.body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, text := range strict {
			size += len(text)
		}
		causes := typ.Validate(o, nil)
		for _, cause := range causes {
			size += len(cause.Field) + len(cause.Message)
		}
		if n := len(strict) + len(causes); n == 0 || n > 1100 || size > 4<<20 {
			t.Errorf("errors %s: %d of %d bytes", c.what, n, size)
		}
	}
}
