package markers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
)

// TestLimitsOfTypeAndField both count.
func TestLimitsOfTypeAndField(t *testing.T) {
	for _, tt := range []struct{ field, of, typ, want string }{
		{"MaxLength=50 MinLength=1", "string", "MaxLength=5 MinLength=2", `"type":"string","minLength":2,"maxLength":5`},
		{"MaxLength=4 MinLength=3", "string", "MaxLength=5 MinLength=2", `"type":"string","minLength":3,"maxLength":4`},
		{"MaxItems=10 MinItems=3", "[]string", "MaxItems=3", `"type":"array","minItems":3,"maxItems":3,"items":{"type":"string"}`},
		{"MinProperties=1", "map[string]bool", "MinProperties=2 MaxProperties=3", `"type":"object","minProperties":2,"maxProperties":3,"additionalProperties":{"type":"boolean"}`},
		{"Minimum=1 Maximum=9", "int", "Minimum=5 Maximum=10", `"type":"integer","minimum":5,"maximum":9`},
		{"Minimum=7", "int", "Minimum=5 ExclusiveMinimum=true", `"type":"integer","minimum":7`},
		{"Minimum=1 ExclusiveMinimum=true", "int", "Minimum=5", `"type":"integer","minimum":5`},
		{"Maximum=5", "int", "Maximum=5.0 ExclusiveMaximum=true", `"type":"integer","maximum":5.0,"exclusiveMaximum":true`},
		{"ExclusiveMaximum=true", "int", "Maximum=5", `"type":"integer","maximum":5,"exclusiveMaximum":true`},
		{"Pattern=b$", "string", "Pattern=^a", `"type":"string","pattern":"^a","allOf":[{"pattern":"b$"}]`},
		{"Pattern=^a", "string", "Pattern=^a", `"type":"string","pattern":"^a"`},
		{"Enum=ab;zz Pattern=b", "string", "Enum=ab;abc", `"type":"string","enum":["ab","abc"],"pattern":"b","allOf":[{"enum":["ab","zz"]}]`},
		{"MultipleOf=4", "int", "MultipleOf=6", `"type":"integer","multipleOf":6,"allOf":[{"multipleOf":4}]`},
		{"items:MaxLength=9 items:Pattern=b", "[]E", "MaxItems=3", `"type":"array","maxItems":3,"items":{"type":"string","maxLength":5,"pattern":"a","allOf":[{"pattern":"b"}]}`},
	} {
		markers := func(of string) string {
			lines := strings.ReplaceAll(" "+of, " ", "\n// +kubebuilder:validation:")
			return lines + "\n"
		}
		got, failed := specOf(t, markers(tt.field)+"A T\n}\n"+markers(tt.typ)+"type T "+tt.of+"\n"+markers("MaxLength=5 Pattern=a")+"type E string")
		want := `{"type":"object","required":["A"],"properties":{"A":{` + tt.want + `}}}`
		if diff := cmp.Diff([]string{want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.field, diff)
		}
	}
}

// TestNumbersOfGo: as they are in JSON.
func TestNumbersOfGo(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"1_000", "1000"},
		{"+5", "5"},
		{".5", "0.5"},
		{"5.", "5"},
		{"0x2p1", "4"},
		{"9007199254740993", "9007199254740993"},
		{"1e3", "1e3"},
		{"Inf", ""},
		{"NaN", ""},
		{"1e999", ""},
		{"true", ""},
		{"", ""},
	} {
		got, failed := specOf(t, "// +kubebuilder:validation:Maximum="+tt.text+"\nA float64\n}")
		want, wrong := `{"type":"object","required":["A"],"properties":{"A":{"type":"number","maximum":`+tt.want+`}}}`, ""
		if tt.want == "" {
			want, wrong = "", "+kubebuilder:validation:Maximum="+tt.text+": want a number"
		}
		if diff := cmp.Diff([]string{want, wrong}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestCommentBehindALimit is no part of it in declarative validation, as for controller-gen 0.23.
func TestCommentBehindALimit(t *testing.T) {
	for _, tt := range []struct{ marker, want, failed string }{
		{"k8s:maximum=9 # why", `"maximum":9`, ""},
		{"k8s:minimum=-1#why=1", `"minimum":-1`, ""},
		{"k8s:maximum=# why", "", "+k8s:maximum=: want a number"},
		{"kubebuilder:validation:Maximum=9 # why", "", "+kubebuilder:validation:Maximum=9 # why: want a number"},
	} {
		got, failed := specOf(t, "// +"+tt.marker+"\nA int\n}")
		want := ""
		if tt.want != "" {
			want = `{"type":"object","required":["A"],"properties":{"A":{"type":"integer",` + tt.want + `}}}`
		}
		if diff := cmp.Diff([]string{want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.marker, diff)
		}
	}
}

// TestEmptyDefault is a list or an object, as the type is.
func TestEmptyDefault(t *testing.T) {
	got, failed := specOf(t, "// +kubebuilder:default={}\nA []string\n// +kubebuilder:default={}\nB map[string]bool\n}")
	want := `{"type":"object","properties":{"A":{"type":"array","default":[],"items":{"type":"string"}},"B":{"type":"object","default":{},"additionalProperties":{"type":"boolean"}}}}`
	if diff := cmp.Diff([]string{want, ""}, []string{got, failed}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarkersHaveAnEnd: however deep or long a value is, it takes neither the stack nor minutes.
func TestMarkersHaveAnEnd(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("{", n) + "1" + strings.Repeat("}", n) }
	deep := "+kubebuilder:default: nested more than 10000 levels deep"
	for _, tt := range []struct{ name, marker, failed string }{
		{"as deep as JSON", "default=" + nested(codec.MaxDepth), ""},
		{"side by side", "default={" + strings.Repeat("{},", 20_000) + "}", ""},
		{"deeper", "default=" + nested(codec.MaxDepth+1), deep},
		{"without an end", "default=" + strings.Repeat("{", 1_000_000), deep},
		{"in maps", "default=" + strings.Repeat("{a:", 100_000), deep},
		{"values of an enum", "validation:Enum=" + strings.Repeat("a;", 90_000), ""},
		{"long", "default=" + strings.Repeat("a", maxComment), "/types.go:18:1: a comment is larger than 1048576 bytes"},
	} {
		start := time.Now()
		_, failed := specOf(t, "// +kubebuilder:"+tt.marker+"\nA any\n}")
		if took := time.Since(start); failed != tt.failed || took > 10*time.Second {
			t.Errorf("%s: %q after %v, want %q", tt.name, failed[:min(len(failed), 200)], took, tt.failed)
		}
	}
}
