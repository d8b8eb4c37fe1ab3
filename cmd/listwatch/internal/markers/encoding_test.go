package markers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSlicesOfBytesAreText: as encoding/json writes them.
func TestSlicesOfBytesAreText(t *testing.T) {
	const (
		text = `{"type":"string","format":"byte"}`
		list = `{"type":"array","items":{"type":"string"}}`
		mine = "func (b B) MarshalText() ([]byte, error) { return nil, nil }"
	)
	for _, tt := range []struct{ types, want string }{
		{"type B byte", text},
		{"type B = byte", text},
		{"type C (uint8)\ntype B C", text},
		{"type B int8", `{"type":"array","items":{"type":"integer"}}`},
		{"type B byte\n" + mine, list},
	} {
		got, failed := specOf(t, "A []B\n}\n"+tt.types)
		want := `{"type":"object","required":["A"],"properties":{"A":` + tt.want + `}}`
		if diff := cmp.Diff([]string{want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.types, diff)
		}
	}
	methods, failed := specOf(t, "A []B\nC []C\nD []D\n}\ntype B = C\ntype D C\ntype C byte\nfunc (C) MarshalText() ([]byte, error) { return nil, nil }")
	want := `{"type":"object","required":["A","C","D"],"properties":{"A":` + list + `,"C":` + list + `,"D":` + text + `}}`
	if diff := cmp.Diff([]string{want, ""}, []string{methods, failed}); diff != "" {
		t.Errorf("aliases have methods (-want +got):\n%s", diff)
	}
	if _, failed := specOf(t, "A []B\n}\ntype B C\ntype C B"); failed == "" {
		t.Error("a type that is declared by itself has a schema")
	}
}

// TestFieldsWithANameAreNested: encoding/json does not know the option inline.
func TestFieldsWithANameAreNested(t *testing.T) {
	const x = `{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`
	for _, tt := range []struct{ field, want string }{
		{"In `json:\",inline\"`", x},
		{"In", x},
		{"In `json:\"in,inline\"`", `{"type":"object","required":["in"],"properties":{"in":` + x + `}}`},
		{"In In `json:\",inline\"`", `{"type":"object","required":["In"],"properties":{"In":` + x + `}}`},
		{"In In `json:\"in,inline,omitempty\"`", `{"type":"object","properties":{"in":` + x + `}}`},
	} {
		got, failed := specOf(t, tt.field+"\n}\ntype In struct{ X string `json:\"x\"` }")
		if diff := cmp.Diff([]string{tt.want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.field, diff)
		}
	}
}
