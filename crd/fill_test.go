package crd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsAreThoseAfterDefaults: a server sets defaults, also in defaults, before it validates.
func TestFaultsAreThoseAfterDefaults(t *testing.T) {
	const name = `"properties":{"url":{"type":"string"},"name":{"type":"string","default":"main"}}`
	for _, tt := range []struct {
		name, schema, value string
		want                []Fault
	}{
		{"maxProperties", `{"type":"object","maxProperties":1,` + name + `}`, `{"url":"a"}`, []Fault{{Message: "has 2 members: want at most 1"}}},
		{"minProperties", `{"type":"object","minProperties":2,` + name + `}`, `{"url":"a"}`, nil},
		{"enum", `{"type":"object","enum":[{"url":"a"}],` + name + `}`, `{"url":"a"}`, []Fault{{Message: "not one of the values of the enum"}}},
		{"enum with it", `{"type":"object","enum":[{"url":"a","name":"main"}],` + name + `}`, `{"url":"a"}`, nil},
		{"not", `{"type":"object","not":{"required":["name"]},` + name + `}`, `{}`, []Fault{{Message: "fits not"}}},
		{"oneOf", `{"type":"object","oneOf":[{"required":["url"]},{"required":["name"]}],` + name + `}`, `{"url":"a"}`, []Fault{{Message: "fits 2 of oneOf: want one"}}},
		{"required", `{"type":"object","required":["name"],` + name + `}`, `{"name":null}`, nil},
		{"in a default", `{"type":"object","properties":{"a":{"type":"object","default":{},"maxProperties":0,` + name + `}}}`, `{}`,
			[]Fault{{Path: "a", Message: "has 1 members: want at most 0"}}},
		{"null in a map", `{"type":"object","minProperties":1,"additionalProperties":{"type":"string","default":"x","maxLength":0}}`, `{"a":null}`,
			[]Fault{{Path: "a", Message: "has 1 characters: want at most 0"}}},
		{"null in a map, dropped", `{"type":"object","maxProperties":0,"additionalProperties":{"type":"string"}}`, `{"a":null}`, nil},
		{"null in a map, a value", `{"type":"object","additionalProperties":{"type":"string","default":"x","maxLength":0,"nullable":true}}`, `{"a":null}`, nil},
		{"in a list", `{"type":"array","items":{"type":"object","maxProperties":1,` + name + `}}`, `[{"url":"a"}]`,
			[]Fault{{Path: "[0]", Message: "has 2 members: want at most 1"}}},
		{"a key", `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object",` + name + `}}`,
			`[{},{"name":"main"}]`, []Fault{{Path: "[1]", Message: "is there twice in a list of the type map"}}},
	} {
		if diff := cmp.Diff(tt.want, faults(parsed(t, tt.schema), []byte(tt.value))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestDefaultsThatOthersComplete: a server validates a default as it stands, takes the definition,
// and then refuses every object without the member.
func TestDefaultsThatOthersComplete(t *testing.T) {
	const (
		members = `"properties":{"memory":{"type":"integer"},"disk":{"type":"integer","default":10}}`
		wrong   = "spec: the default, with those of its members, is not a value of the schema: "
	)
	for _, tt := range []struct{ name, limit, want string }{
		{"none", ``, ""},
		{"maxProperties", `"maxProperties":1,`, wrong + "has 2 members: want at most 1"},
		{"not", `"not":{"required":["memory","disk"]},`, wrong + "fits not"},
		{"enum", `"enum":[{"memory":5}],`, wrong + "not one of the values of the enum"},
		{"rule, which only Diff sees", `"x-kubernetes-validations":[{"rule":"!has(self.disk)"}],`, ""},
	} {
		old := `{"type":"object",` + tt.limit + members + `}`
		next := `{"type":"object","default":{"memory":5},` + tt.limit + members + `}`
		v := NewVersion("v1", &Schema{Type: "object", Properties: map[string]*Schema{"spec": parsed(t, next)}}, VersionOptions{})
		v.Storage = true
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if diff := cmp.Diff(want, flat(New(widgets, Options{}, v).Validate())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		in := func(s string) string { return `{"type":"object","properties":{"cache":` + s + `}}` }
		if changes, breaks := breaking(t, in(old), in(next)); breaks != (tt.limit != "") {
			t.Errorf("%s: %v", tt.name, changes)
		}
	}
}

// TestDefaultsOfNestedListsAreLimited: each list doubles the values, which a server would set.
func TestDefaultsOfNestedListsAreLimited(t *testing.T) {
	nested := func(n int) *Schema {
		s := &Schema{Type: "object"}
		for range n {
			s = &Schema{Type: "object", Properties: map[string]*Schema{"l": {Type: "array", Default: json.RawMessage(`[{},{}]`), Items: s}}}
		}
		return s
	}
	want := fmt.Sprintf("makes more than %d values", maxFilled)
	for n, large := range map[int]bool{2: false, 10: false, 40: true} {
		v := NewVersion("v1", &Schema{Type: "object", Properties: map[string]*Schema{"spec": nested(n)}}, VersionOptions{})
		v.Storage = true
		refused := slices.ContainsFunc(flat(New(widgets, Options{}, v).Validate()), func(e string) bool { return strings.HasSuffix(e, want) })
		wrong := faults(nested(n), []byte(`{}`))
		if refused != large || (len(wrong) == 1 && wrong[0].Message == "a default "+want) != large {
			t.Errorf("%d lists: refused %v, faults %v: want too many %v", n, refused, wrong, large)
		}
	}
	// What an object has itself, and one default after another, may be more.
	text := "[" + strings.Repeat(`{},`, maxFilled) + `{}]`
	s := parsed(t, `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}`)
	if wrong := faults(s, []byte(text)); len(wrong) > 0 {
		t.Error(wrong)
	}
}
