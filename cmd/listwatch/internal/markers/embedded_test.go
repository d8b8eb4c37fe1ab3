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
		{"In", "// +kubebuilder:default={A: a}\n// +structType=atomic\ntype In struct{ A string }", `{"type":"object","default":{"A":"a"},"minProperties":1,"maxProperties":3,"required":["A"],"properties":{"A":{"type":"string"}},"x-kubernetes-map-type":"atomic"}`, ""},
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
