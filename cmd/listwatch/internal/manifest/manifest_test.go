package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
)

// TestItemsOfAListGetItsKind: also of a List in a List, and in YAML.
func TestItemsOfAListGetItsKind(t *testing.T) {
	for _, text := range []string{
		`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}, {"kind":null,"metadata":{"name":"b"}} ,{"kind":"Node","apiVersion":"v2","metadata":{"name":"c"}}]}`,
		`{"kind":"List","apiVersion":"v1","items":[{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"apiVersion":"v1","kind":"PodList"},{"kind":"Node","apiVersion":"v2","metadata":{"name":"c"}}]}`,
		"kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n---\n---\n{kind: Node, apiVersion: v2, metadata: {name: c}}\n",
		"\ufeff" + `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}} {"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}} null {"kind":"Node","apiVersion":"v2","metadata":{"name":"c"}}`,
	} {
		all, err := (&manifest.Reader{Stdin: strings.NewReader(text)}).Read(t.Context(), "-")
		if err != nil {
			t.Error(err)
			continue
		}
		var got []any
		for _, o := range all {
			v, err := o.Value()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		var want []any
		if err := json.Unmarshal([]byte(`[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}},{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}},{"kind":"Node","apiVersion":"v2","metadata":{"name":"c"}}]`), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", text, diff)
		}
	}
}

// TestLimitsHoldForAllFiles: what is read first leaves less for what follows.
func TestLimitsHoldForAllFiles(t *testing.T) {
	const object = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`
	large := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":"` + strings.Repeat("x", 3<<20) + `"}`
	for _, c := range []struct {
		name, text, want string
		times            int
	}{
		{"objects", strings.Repeat(object, manifest.MaxObjects/2), "-, document 1: more than 100000 objects", 3},
		{"items", `{"kind":"List","items":[` + object + strings.Repeat(","+object, manifest.MaxObjects) + "]}", "-, document 1, item 100001: more than 100000 objects", 1},
		{"bytes", object + strings.Repeat(" ", manifest.MaxBytes/2), "stdin is larger than 33554376 bytes, so hardly what is meant", 2},
		{"an object", large, "-, document 1: larger than 3145728 bytes, which is more than a server takes", 1},
		{"values", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":[0` + strings.Repeat(`,"\",["`, 300_000) + "]}", "-, document 1: more than 300000 values in one object", 1},
		{"an item", `{"kind":"List","items":[` + large + "]}", "-, document 1, item 1: larger than 3145728 bytes, which is more than a server takes", 1},
		{"a List in a List", `{"kind":"List","items":[{"kind":"List","items":[` + strings.Repeat(" ", 20<<20) + object + "]}]}", "-, document 1, item 1: larger than 3145728 bytes, which is more than a server takes", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &manifest.Reader{}
			var err error
			for range c.times {
				r.Stdin = strings.NewReader(c.text)
				_, err = r.Read(t.Context(), "-")
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
