package schema_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

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

// TestConflictsAreLimited: an apply whose conflicts lie below a long name repeats at most
// 1 KiB of the name in each, and says how many there are.
func TestConflictsAreLimited(t *testing.T) {
	var catalog schema.Catalog
	typ, err := catalog.Custom(kube.Resource{Group: "g", Version: "v1", Kind: "K"}, []byte(`{"type":"object","properties":{"x":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const fields = 5000
	object := func(value int) map[string]any {
		part := map[string]any{}
		for i := range fields {
			part["f"+strconv.Itoa(i)] = int64(value)
		}
		return map[string]any{"apiVersion": "g/v1", "kind": "K", "metadata": map[string]any{"name": "n"},
			"x": map[string]any{strings.Repeat("k", 1_000_000): part}}
	}
	live, err := typ.Apply(nil, object(1), schema.Write{Manager: "a", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = typ.Apply(live, object(2), schema.Write{Manager: "b", Now: time.Now()})
	var st *kube.Status
	if !errors.As(err, &st) || st.Code != http.StatusConflict || st.Details == nil || !strings.Contains(st.Message, strconv.Itoa(fields)) {
		t.Fatalf("got %.200v", err)
	}
	size := len(st.Message)
	for _, cause := range st.Details.Causes {
		size += len(cause.Field) + len(cause.Message)
	}
	if size > 5<<19 {
		t.Errorf("%d causes and the message are %d bytes", len(st.Details.Causes), size)
	}
}
