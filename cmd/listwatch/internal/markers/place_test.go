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

// TestTrailingCommentsHoldNoMarkers: of any field, and what would be lost is an error.
func TestTrailingCommentsHoldNoMarkers(t *testing.T) {
	const both = `{"type":"object","required":["A","B"],"properties":{"A":{"type":"string"},"B":{"type":"string"}}}`
	lost := func(name string) string {
		return "the marker +" + name + " must stand on a line of its own, above its type or field"
	}
	for _, tt := range []struct{ source, want, failed string }{
		{"A string // +1 is not a marker\n\nB string\n}", both, ""},
		{"A string // +optional\n\nB string\n}", "", lost("optional")},
		{"A string\n\nB string // +kubebuilder:validation:MaxLength=3\n}", "", lost("kubebuilder:validation:MaxLength")},
		{"A, B string\n}\ntype C string // +nullable", "", lost("nullable")},
		{"A, B string\n}\n// +kubebuilder:validation:MaxLength=3\ntype (\nC string\n)", "", lost("kubebuilder:validation:MaxLength")},
		{"A, B string\n}\nconst x = 1 // +kubebuilder:validation:Optional\n\ntype C string", both, ""},
		{"A, B string\n}\nfunc f() {\n\tx := 1 // +k8s:verify-mutation:reason=clone\n\n\ttype y string\n}", both, ""},
	} {
		got, failed := specOf(t, tt.source)
		if diff := cmp.Diff([]string{tt.want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.source, diff)
		}
	}
}
