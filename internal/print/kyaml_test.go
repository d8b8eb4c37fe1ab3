package print

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// TestKYAMLListsAreThoseOfKubectl: a list, which is printed object by object, has the bytes
// that kubectl's encoder makes of it as a whole.
func TestKYAMLListsAreThoseOfKubectl(t *testing.T) {
	objects := []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"no":"on","<<":"x","2001-01-01":"","a b":"1"}},"data":{"text":"one\n  two\n\n\tthree\n","last":"a\n\n\nb","empty":""}}`,
		`{"apiVersion":"v1","kind":"Widget","metadata":{"name":"b"},"spec":{"int":9007199254740993,"num":1e21,"list":[1,2.5,"x",null,true,{"a":[1,[2]]}],"maps":[{"a":1},{"b":{}}],"none":[],"quoted":"a \"b\" '\\ \t日本\u2028 \u0001 😀"}}`,
		`{"apiVersion":"v1","kind":"Widget","metadata":{"name":"c"}}`,
	}
	for count := range len(objects) + 1 {
		items := []any{}
		format := Format{Name: "kyaml", List: true}
		enc := format.Encoder()
		var got []byte
		for _, text := range objects[:count] {
			var err error
			if got, err = enc.Encode(got, recordOf(t, text)); err != nil {
				t.Fatal(err)
			}
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			var m any
			if err := dec.Decode(&m); err != nil {
				t.Fatal(err)
			}
			items = append(items, m)
		}
		got, err := enc.End(got)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}
		encoder := kyaml.Encoder{}
		if err := encoder.FromObject(list, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), strings.ReplaceAll(string(got), "1e+21", "1e21")); diff != "" {
			t.Errorf("%d objects (-want +got):\n%s", count, diff)
		}
	}
}

// TestKYAMLOfStrangeText: what the reader of YAML within kubectl's encoder refuses is
// printed all the same: control characters with escapes.
func TestKYAMLOfStrangeText(t *testing.T) {
	const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a\u007f":"\u007f\u0080\u0085\u009f\ufeff\ufffe\uffff"}}`
	var got, want any
	if err := yaml.Unmarshal(kyamlText(t, text), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKYAMLOfLongNames: an object with a name of a member of 2 KB, which the encoder
// refuses, is printed as JSON.
func TestKYAMLOfLongNames(t *testing.T) {
	text := `{"apiVersion":"v1","data":{"` + strings.Repeat("x", 2048) + `":"\u0080"},"kind":"ConfigMap","metadata":{"name":"a"}}`
	if diff := cmp.Diff("---\n"+text+"\n", string(kyamlText(t, text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func kyamlText(t *testing.T, text string) []byte {
	t.Helper()
	b, err := (&Format{Name: "kyaml"}).Encoder().Encode(nil, recordOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func recordOf(t *testing.T, text string) *record.Record {
	t.Helper()
	raw, err := codec.ParseRaw([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &record.Record{Type: "ADDED", Resource: kube.Resource{Plural: "widgets", Kind: "Widget"}, Object: raw}
}
