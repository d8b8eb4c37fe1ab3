package markers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// box is a resource; fields, and declarations, follow it.
const box = `// +groupName=example.com
package v1

import (
	"math/big"
	"net"
	"net/netip"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Box struct {
	metav1.TypeMeta
	metav1.ObjectMeta ` + "`json:\"metadata\"`" + `
	Spec Spec ` + "`json:\"spec\"`" + `
}

type Spec struct {
`

// specOf returns the schema of the spec of the box in JSON, or an error without its folder.
func specOf(t *testing.T, source string) (schema, failed string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(box+source), 0o644); err != nil {
		t.Fatal(err)
	}
	defs, err := Read(dir)
	if err != nil {
		_, message, _ := strings.Cut(strings.ReplaceAll(firstLine(err), dir, ""), ": ")
		return "", message
	}
	b, err := json.Marshal(defs[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return string(b), ""
}

// TestMethodsMakeTheJSONOfAType: the source of a type with MarshalText or MarshalJSON does not.
func TestMethodsMakeTheJSONOfAType(t *testing.T) {
	const advice = " has its own MarshalJSON: give it the marker +kubebuilder:validation:Type, and +kubebuilder:pruning:PreserveUnknownFields if it is an object, or each field of it these and +kubebuilder:validation:Schemaless"
	for _, tt := range []struct{ field, types, want, failed string }{
		{"A Level", "type Level int\nfunc (l Level) MarshalText() ([]byte, error) { return nil, nil }", `{"type":"string"}`, ""},
		{"A *Level", "type Level struct{ N int }\nfunc (l *Level) MarshalText() ([]byte, error) { return nil, nil }", `{"type":"string"}`, ""},
		{"A Level", "// +kubebuilder:validation:Enum=a;b\ntype Level int\nfunc (l Level) MarshalText() ([]byte, error) { return nil, nil }", `{"enum":["a","b"],"type":"string"}`, ""},
		{"A Level", "type Level int\nfunc (l Level) MarshalText(base int) string { return `` }", `{"type":"integer"}`, ""},
		{"A net.IP", "", `{"type":"string"}`, ""},
		{"A *netip.Addr", "", `{"type":"string"}`, ""},
		{"A Odd", "type Odd struct{}\nfunc (o Odd) MarshalJSON() ([]byte, error) { return nil, nil }", "", "Odd" + advice},
		{"A Odd", "// +kubebuilder:validation:Type=string\ntype Odd struct{ B int }\nfunc (o Odd) MarshalJSON() ([]byte, error) { return nil, nil }", `{"type":"string"}`, ""},
		{"A Odd", "// +kubebuilder:validation:Type=object\n// +kubebuilder:pruning:PreserveUnknownFields\ntype Odd struct{ B int }\nfunc (o Odd) MarshalJSON() ([]byte, error) { return nil, nil }", `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, ""},
		{"A Odd", "// +kubebuilder:validation:XIntOrString\ntype Odd struct{ B int }\nfunc (o *Odd) MarshalJSON() ([]byte, error) { return nil, nil }", `{"x-kubernetes-int-or-string":true}`, ""},
		{"A big.Int", "", "", "Int" + advice},
		{"// +kubebuilder:validation:Schemaless\n// +kubebuilder:validation:Type=integer\nA big.Int", "", `{"type":"integer"}`, ""},
	} {
		got, failed := specOf(t, tt.field+"\n}\n"+tt.types)
		want := ""
		if tt.want != "" {
			want = `{"type":"object","required":["A"],"properties":{"A":` + tt.want + `}}`
		}
		if diff := cmp.Diff([]any{fields(t, want), tt.failed}, []any{fields(t, got), failed}); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.field, tt.types, diff)
		}
	}
}

// fields decodes a schema, without the descriptions of types of other packages.
func fields(t *testing.T, schema string) (v map[string]any) {
	if schema == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(schema), &v); err != nil {
		t.Fatal(err)
	}
	for _, p := range v["properties"].(map[string]any) {
		delete(p.(map[string]any), "description")
	}
	return v
}

// TestOwnFieldsGoBeforeEmbeddedOnes: in encoding/json, and wherever they stand.
func TestOwnFieldsGoBeforeEmbeddedOnes(t *testing.T) {
	const (
		base = "\n}\ntype Base struct{ Size int `json:\"size\"` }\ntype Other struct{ Size bool `json:\"size\"` }"
		text = `{"type":"object","properties":{"size":{"type":"string"}}}`
	)
	for _, tt := range []struct{ fields, want, failed string }{
		{"Size string `json:\"size,omitempty\"`\nBase", text, ""},
		{"Base `json:\",inline\"`\nSize string `json:\"size,omitempty\"`", text, ""},
		{"Size string `json:\"size,omitempty\"`\nBase\nOther", text, ""},
		{"Size string `json:\"-\"`\nBase", `{"type":"object","required":["size"],"properties":{"size":{"type":"integer"}}}`, ""},
		{"Base\nOther", "", "another field is called size in JSON, and of two encoding/json writes none"},
		{"A int `json:\"size\"`\nSize string `json:\"size\"`", "", "another field is called size in JSON, and of two encoding/json writes none"},
	} {
		got, failed := specOf(t, tt.fields+base)
		if diff := cmp.Diff([]any{fields(t, tt.want), tt.failed}, []any{fields(t, got), failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.fields, diff)
		}
	}
}

// TestEveryFieldIsAMember: or an error says why not.
func TestEveryFieldIsAMember(t *testing.T) {
	const inline = "only a struct without methods for JSON can be inline: give this field a name, also in its json tag"
	for _, tt := range []struct{ source, want, failed string }{
		{"P, Q, r bool\ns int `json:\"s\"`\n}", `{"type":"object","required":["P","Q"],"properties":{"P":{"type":"boolean"},"Q":{"type":"boolean"}}}`, ""},
		{"P, Q bool `json:\"x\"`\n}", "", "another field is called x in JSON, and of two encoding/json writes none"},
		{"A bool `json:\"-,\"`\nB bool `json:\"-\"`\n}", `{"type":"object","required":["-"],"properties":{"-":{"type":"boolean"}}}`, ""},
		{"A [4]byte\n}", `{"type":"object","required":["A"],"properties":{"A":{"type":"array","items":{"type":"integer"}}}}`, ""},
		{"A []byte\n}", `{"type":"object","required":["A"],"properties":{"A":{"type":"string","format":"byte"}}}`, ""},
		{"Mode `json:\"mode\"`\n}\ntype Mode string", `{"type":"object","required":["mode"],"properties":{"mode":{"type":"string"}}}`, ""},
		{"Mode\n}\ntype Mode string", "", inline},
		{"Modes `json:\",inline\"`\n}\ntype Modes map[string]string", "", inline},
		{"*metav1.Time\n}", "", inline},
		{"Nope\n}", "", "the type Nope is not declared in this package"},
	} {
		got, failed := specOf(t, tt.source)
		if diff := cmp.Diff([]any{fields(t, tt.want), tt.failed}, []any{fields(t, got), failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.source, diff)
		}
	}
}
