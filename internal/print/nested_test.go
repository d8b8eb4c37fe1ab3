package print

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/record"

	jsonmerge "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// TestDeepObjectsArePrintedOnOneLine: the indentation of an object of 40 KB, 400 levels
// deep, would be 32 MB. It is JSON, and YAML, all the same.
func TestDeepObjectsArePrintedOnOneLine(t *testing.T) {
	const levels, leaves = 400, 20_000
	text := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":` + strings.Repeat(`[`, levels) +
		strings.TrimSuffix(strings.Repeat("1,", leaves), ",") + strings.Repeat(`]`, levels) + `}`
	raw, err := codec.ParseRaw([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		Format string
		list   bool
		decode func([]byte, any) error
	}{
		{"json", true, json.Unmarshal}, {"json", false, json.Unmarshal}, {"yaml", true, yaml.Unmarshal}, {"yaml", false, yaml.Unmarshal},
		{"kyaml", true, yaml.Unmarshal}, {"kyaml", false, yaml.Unmarshal},
	} {
		o := &Format{Name: test.Format, List: test.list}
		enc := o.Encoder()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := enc.Encode(nil, &record.Record{Type: "ADDED", Resource: kube.Resource{Plural: "widgets", Kind: "Widget"}, Object: raw})
		if err == nil {
			b, err = enc.End(b)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || len(b) > 2*len(text) || used > 20<<20 {
			t.Errorf("%s, list %t: %v, %d bytes, %d allocated", test.Format, test.list, err, len(b), used)
		}
		var got struct {
			Items []map[string]any
			Spec  any
		}
		if err := test.decode(b, &got); err != nil {
			t.Fatalf("%s, list %t: %v", test.Format, test.list, err)
		}
		var want struct{ Spec any }
		if err := test.decode([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		spec := got.Spec
		if test.list {
			spec = got.Items[0]["spec"]
		}
		if !reflect.DeepEqual(want.Spec, spec) {
			t.Errorf("%s, list %t: another value", test.Format, test.list)
		}
	}
}

// TestCrowdedObjectsAreYAMLOnOneLine: the encoder takes two kilobytes for each value.
func TestCrowdedObjectsAreYAMLOnOneLine(t *testing.T) {
	for n, lines := range map[int]int{100: 101, maxNodes: 1} {
		b, err := yamlOf(map[string]any{"spec": make([]any, n)})
		if got := strings.Count(string(b), "\n"); err != nil || got != lines {
			t.Errorf("%d values: %d lines (%v), want %d", n, got, err, lines)
		}
	}
}

// TestLongPathsDifferAsAWhole: a name of 1 MB is in the path to each value within it.
func TestLongPathsDifferAsAWhole(t *testing.T) {
	object := func(value any) map[string]any {
		list := make([]any, 100)
		for i := range list {
			list[i] = value
		}
		return map[string]any{strings.Repeat("x", 1<<20): list}
	}
	a, b := object("1"), object("2")
	if d := differences(a, b); len(d) != 1 || d[0].path != "." || !reflect.DeepEqual(d[0].new, any(b)) {
		t.Errorf("%d differences, want the whole", len(d))
	}
	patch, err := patchOf("json-patch", a, b)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonmerge.DecodePatch(patch)
	if err != nil || len(decoded) != 1 {
		t.Fatalf("%d operations, %v", len(decoded), err)
	}
	var op struct {
		Op, Path string
		Value    map[string]any
	}
	if err := json.Unmarshal(patch[1:len(patch)-1], &op); err != nil || op.Op != "replace" || op.Path != "" || !reflect.DeepEqual(op.Value, b) {
		t.Errorf("%q at %q, %v", op.Op, op.Path, err)
	}
}
