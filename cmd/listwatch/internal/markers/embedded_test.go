package markers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkersOfAnEmbeddedStruct are those of the struct around it, as for controller-gen.
func TestMarkersOfAnEmbeddedStruct(t *testing.T) {
	const (
		validation = "// +kubebuilder:validation:"
		preserve   = "// +kubebuilder:pruning:PreserveUnknownFields\n"
		types      = "\n}\n" + validation + "MaxProperties=3\n" + validation + "MinProperties=1\n"
		in         = "type In struct{}\n"
	)
	for _, tt := range []struct{ fields, types, want, failed string }{
		{"In", in, `{"type":"object","minProperties":1,"maxProperties":3}`, ""},
		{"In", preserve + "// +nullable\n" + in, `{"type":"object","nullable":true,"minProperties":1,"maxProperties":3,"x-kubernetes-preserve-unknown-fields":true}`, ""},
		{"// +kubebuilder:default={A: a}\nIn", "// +structType=atomic\ntype In struct{ A string }", `{"type":"object","default":{"A":"a"},"minProperties":1,"maxProperties":3,"required":["A"],"properties":{"A":{"type":"string"}},"x-kubernetes-map-type":"atomic"}`, ""},
		{validation + "MaxProperties=2\n" + validation + `XValidation:rule="true"` + "\nIn", in, `{"type":"object","minProperties":1,"maxProperties":2,"x-kubernetes-validations":[{"rule":"true"}]}`, ""},
		{"In\nMore", in + preserve + validation + "MinProperties=2\ntype More struct{}", `{"type":"object","minProperties":2,"maxProperties":3,"x-kubernetes-preserve-unknown-fields":true}`, ""},
		{"// +mapType=granular\nIn\n// +mapType=atomic\nMore", in + "type More struct{}", "", "the embedded structs have different default values or map types"},
	} {
		got, failed := specOf(t, tt.fields+types+tt.types)
		if diff := cmp.Diff([]string{tt.want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.fields, tt.types, diff)
		}
	}
}

// TestOfEmbeddedFieldsTheShallowerOneIsWritten: of two with the same name in JSON.
func TestOfEmbeddedFieldsTheShallowerOneIsWritten(t *testing.T) {
	const (
		types = "\n}\ntype Deep struct{ X string }\ntype Mid struct{ Deep }\ntype Other struct{ X int `json:\",omitempty\"` }\ntype Same struct{ Deep }"
		x     = `{"type":"object","properties":{"X":{"type":"integer"}}}`
		twice = "another field is called X in JSON, and of two encoding/json writes none"
	)
	for _, tt := range []struct{ fields, want, failed string }{
		{"Mid\nOther", x, ""},
		{"Other\nMid", x, ""},
		{"Mid\nSame\nOther", x, ""},
		{"Mid", `{"type":"object","required":["X"],"properties":{"X":{"type":"string"}}}`, ""},
		{"Mid\nSame", "", twice},
		{"Deep\nOther", "", twice},
		{"Mid\nOther\nX bool `json:\",omitempty\"`", `{"type":"object","properties":{"X":{"type":"boolean"}}}`, ""},
	} {
		got, failed := specOf(t, tt.fields+types)
		if diff := cmp.Diff([]string{tt.want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}

// TestEmbeddedFieldsThatAreIgnored: those of types that are not exported, but not of structs.
func TestEmbeddedFieldsThatAreIgnored(t *testing.T) {
	const a = `"A":{"type":"string"}`
	for _, tt := range []struct{ fields, want string }{
		{"str\nA string", `{"type":"object","required":["A"],"properties":{` + a + `}}`},
		{"*str `json:\"s\"`\nA string", `{"type":"object","required":["A"],"properties":{` + a + `}}`},
		{"error\nA string", `{"type":"object","required":["A"],"properties":{` + a + `}}`},
		{"*inner", `{"type":"object","required":["A"],"properties":{` + a + `}}`},
		{"alias", `{"type":"object","required":["A"],"properties":{` + a + `}}`},
		{"inner `json:\"in\"`", `{"type":"object","required":["in"],"properties":{"in":{"type":"object","required":["A"],"properties":{` + a + `}}}}`},
	} {
		got, failed := specOf(t, tt.fields+"\n}\ntype str string\ntype inner struct{ A string }\ntype alias = inner")
		if diff := cmp.Diff([]string{tt.want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}

// TestDefaultOfATypeIsNone: as for controller-gen, where it is that of a field.
func TestDefaultOfATypeIsNone(t *testing.T) {
	const (
		none  = `{"type":"object","required":["A"],"properties":{"A":{"type":"string"}}}`
		types = "\n}\n// +kubebuilder:default=x\n// +default=\"x\"\ntype T string\n// +kubebuilder:default={A: x}\ntype In struct{ A T }"
	)
	for _, tt := range []struct{ fields, want string }{
		{"A T", none},
		{"In", none},
		{"// +kubebuilder:default=y\nA T", `{"type":"object","properties":{"A":{"type":"string","default":"y"}}}`},
	} {
		got, failed := specOf(t, tt.fields+types)
		if diff := cmp.Diff([]string{tt.want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}
