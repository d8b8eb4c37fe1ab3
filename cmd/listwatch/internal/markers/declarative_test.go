package markers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEachMarkerOfDeclarativeValidationHasItsEffect: none that controller-gen 0.23 knows is
// dropped. Those are its names with the prefix k8s: in pkg/crd/markers, in validation.go and
// topology.go.
func TestEachMarkerOfDeclarativeValidationHasItsEffect(t *testing.T) {
	const items = `"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}`
	required := func(a string) string { return `{"type":"object","required":["A"],"properties":{"A":` + a + `}}` }
	for _, tt := range []struct{ source, want, failed string }{
		{"// +k8s:required\nA *int `json:\",omitempty\"`\n}", required(`{"type":"integer"}`), ""},
		{"// +k8s:optional\nA int\n}", `{"type":"object","properties":{"A":{"type":"integer"}}}`, ""},
		{"// +k8s:immutable\nA int\n}", required(`{"type":"integer","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"field is immutable"}]}`), ""},
		{
			"// +k8s:immutable\n// +optional\nA int\n}",
			`{"type":"object","properties":{"A":{"type":"integer","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"field is immutable"}]}},"x-kubernetes-validations":[{"rule":"!has(oldSelf.A) || has(self.A)","message":"field A is immutable once set"}]}`,
			"",
		},
		{"A T\n}\n// +k8s:immutable\ntype T int", required(`{"type":"integer"}`), ""},
		{"// +k8s:maxItems=3\nA []int\n}", required(`{"type":"array","maxItems":3,"items":{"type":"integer"}}`), ""},
		{"// +k8s:minimum=3\nA int\n}", required(`{"type":"integer","minimum":3}`), ""},
		{"// +k8s:maximum=3\nA int\n}", required(`{"type":"integer","maximum":3}`), ""},
		{"// +k8s:listType=atomic\nA []int\n}", required(`{"type":"array","items":{"type":"integer"},"x-kubernetes-list-type":"atomic"}`), ""},
		{
			"// +listType=map\n// +k8s:listType=map\n// +listMapKey=k\n// +k8s:listMapKey=k\nA []T\n}\ntype T struct{ K string `json:\"k\"` }",
			required(`{"type":"array",` + items + `,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}`), "",
		},
		{
			"A L\n}\n// +k8s:listType=map\n// +k8s:listMapKey=k\ntype L []T\ntype T struct{ K string `json:\"k\"` }",
			required(`{"type":"array",` + items + `,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}`), "",
		},
		{"A T\n}\nconst X, Y T = \"b\", `a`\nconst Z, z = T(\"c\"), \"d\"\n// +k8s:enum\ntype T string\nconst N T = \"N\"", required(`{"type":"string","enum":["N","a","b"]}`), ""},
		{"A T\n}\nconst X T = 1\n// +k8s:enum\ntype T int", "", "+k8s:enum: the type T has no constants that are texts"},
		{"// +k8s:enum\nA string\n}", "", "+k8s:enum is for types, not for fields"},
		{"// +k8s:madeUp=3\n// +k8s:immutability\nA int\n}", required(`{"type":"integer"}`), ""},
	} {
		got, failed := specOf(t, tt.source)
		if diff := cmp.Diff([]string{tt.want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.source, diff)
		}
	}
}
