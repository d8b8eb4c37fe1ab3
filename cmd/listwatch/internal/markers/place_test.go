package markers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkersInAGroupOfTypes are those of the type below them only.
func TestMarkersInAGroupOfTypes(t *testing.T) {
	const fields = "A A\nB B\nC C\n}\n// All are letters.\ntype (\n"
	for _, tt := range []struct{ types, want string }{
		{
			"// A is a.\n// +kubebuilder:validation:MaxLength=1\nA string\n// B is b.\nB string\nC string",
			`{"A":{"description":"A is a.","type":"string","maxLength":1},"B":{"description":"B is b.","type":"string"},"C":{"type":"string"}}`,
		},
		{
			"// +kubebuilder:validation:MaxLength=1\n\n// A is a.\nA string\n\n// +kubebuilder:validation:MaxLength=2\n\nB string\n\n// +kubebuilder:validation:MaxLength=3\nC string",
			`{"A":{"description":"A is a.","type":"string","maxLength":1},"B":{"type":"string","maxLength":2},"C":{"type":"string","maxLength":3}}`,
		},
	} {
		got, failed := specOf(t, fields+tt.types+"\n)")
		want := `{"type":"object","required":["A","B","C"],"properties":` + tt.want + `}`
		if diff := cmp.Diff([]string{want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.types, diff)
		}
	}
}
