package markers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/crd"
)

// definitionOf returns the definition of the box with markers, or an error without its folder.
func definitionOf(t *testing.T, markers string) (d *crd.Definition, failed string) {
	dir := t.TempDir()
	source := strings.Replace(box, "type Box", markers+"\ntype Box", 1) + "A int\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	defs, err := Read(dir)
	if err != nil {
		_, message, _ := strings.Cut(firstLine(err), ": ")
		return nil, message
	}
	return defs[0], ""
}

func TestResourceMarkerNamesTheResource(t *testing.T) {
	const resource = "+kubebuilder:resource"
	names := func(n crd.Names) crd.Names {
		n.Kind, n.ListKind = "Box", "BoxList"
		return n
	}
	for _, tt := range []struct {
		marker string
		want   crd.Names
		failed string
	}{
		{resource, names(crd.Names{Plural: "boxes", Singular: "box"}), ""},
		{resource + ":path=boxen,categories={all, x},singular=b", names(crd.Names{Plural: "boxen", Singular: "b", Categories: []string{"all", "x"}}), ""},
		{resource + `:shortName=bo;"bx",categories=all`, names(crd.Names{Plural: "boxes", Singular: "box", ShortNames: []string{"bo", "bx"}, Categories: []string{"all"}}), ""},
		{resource + ":categories={}, scope=Cluster", names(crd.Names{Plural: "boxes", Singular: "box"}), ""},
		{resource + ":scop=Cluster", crd.Names{}, resource + ": there is no argument scop"},
		{resource + ":scope=Clusters", crd.Names{}, resource + ": scope=Clusters: want Namespaced or Cluster"},
		{resource + ":categories={all", crd.Names{}, resource + ": a brace is not closed"},
		{resource + ":categories={all}x", crd.Names{}, resource + `: "x" follows a value`},
		{resource + ":shortName=a,b", crd.Names{}, resource + `: "b" has no value`},
		{"+kubebuilder:printcolumn:nme=X,type=integer,JSONPath=.spec.A", crd.Names{}, "+kubebuilder:printcolumn: there is no argument nme"},
	} {
		d, failed := definitionOf(t, "// "+tt.marker)
		var got crd.Names
		if d != nil {
			got = d.Spec.Names
		}
		if diff := cmp.Diff([]any{tt.want, tt.failed}, []any{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.marker, diff)
		}
	}
}

// TestNothingFollowsAValue: what would be lost is an error.
func TestNothingFollowsAValue(t *testing.T) {
	const validation = "+kubebuilder:validation:"
	for _, tt := range []struct{ marker, want, failed string }{
		{validation + `XValidation:rule="self == 'a'" , message=m`, `{"type":"string","x-kubernetes-validations":[{"rule":"self == 'a'","message":"m"}]}`, ""},
		{validation + `XValidation:rule="self == 'a'",mesage="m"`, "", validation + "XValidation: there is no argument mesage"},
		{validation + `XValidation:rule="true" && false`, "", validation + `XValidation: "&& false" follows a value`},
		{validation + `Pattern="abc"def`, "", validation + `Pattern: "def" follows a value`},
		{validation + `Pattern="abc`, "", validation + "Pattern: a quote is not closed"},
		{validation + `Pattern=^"a b",c;d$`, `{"type":"string","pattern":"^\"a b\",c;d$"}`, ""},
		{validation + "Enum=a,b", "", validation + `Enum: ",b" follows a value`},
		{validation + "Enum={a, b} ; c", `{"type":"string","enum":["a","b","c"]}`, ""},
		{validation + "Enum=a;b ; ", `{"type":"string","enum":["a","b"]}`, ""},
		{validation + `Enum=a;""`, `{"type":"string","enum":["a",""]}`, ""},
		{validation + "MinLength= 2", `{"type":"string","minLength":2}`, ""},
		{validation + "XEmbeddedResource= false", `{"type":"string"}`, ""},
		{"+kubebuilder:default=a;b", `{"type":"string","default":"a;b"}`, ""},
		{`+kubebuilder:default="a"b`, "", `+kubebuilder:default: "b" follows a value`},
	} {
		got, failed := specOf(t, "// +optional\n// "+tt.marker+"\nA string\n}\n")
		want := ""
		if tt.want != "" {
			want = `{"type":"object","properties":{"A":` + tt.want + `}}`
		}
		if diff := cmp.Diff([]string{want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.marker, diff)
		}
	}
}

func TestMetadataMarkerIsThatOfTheDefinition(t *testing.T) {
	const metadata = "// +kubebuilder:metadata:"
	for _, tt := range []struct {
		markers string
		want    crd.Metadata
		failed  string
	}{
		{metadata + "labels=\"team=a\"\n" + metadata + `annotations="a.b/c=d=e"`, crd.Metadata{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"a.b/c": "d=e"}}, ""},
		{metadata + `labels={team=a,"x="},annotations=k=1;l=2`, crd.Metadata{Labels: map[string]string{"team": "a", "x": ""}, Annotations: map[string]string{"k": "1", "l": "2"}}, ""},
		{metadata + "labels=a", crd.Metadata{}, `+kubebuilder:metadata: "a" is not NAME=VALUE`},
		{metadata + "names=a", crd.Metadata{}, "+kubebuilder:metadata: there is no argument names"},
	} {
		d, failed := definitionOf(t, tt.markers)
		var got crd.Metadata
		if d != nil {
			tt.want.Name = "boxes.example.com"
			got = d.Metadata
		}
		if diff := cmp.Diff([]any{tt.want, tt.failed}, []any{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.markers, diff)
		}
	}
}

// TestResourceMarkerOfAnyVersion: not only that of the first.
func TestResourceMarkerOfAnyVersion(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		source := strings.Replace(box, "package v1", "package "+version, 1) + "A int\n}\n"
		if version == "v2" {
			source = strings.Replace(source, "type Box", "// +kubebuilder:storageversion\n// +kubebuilder:resource:path=boxen,scope=Cluster\ntype Box", 1)
		}
		if err := os.Mkdir(filepath.Join(dir, version), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, version, "types.go"), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	defs, err := Read(dir)
	if err != nil || len(defs) != 1 {
		t.Fatalf("%d definitions, %v: want one", len(defs), err)
	}
	got := []string{defs[0].Metadata.Name, defs[0].Spec.Names.Plural, defs[0].Spec.Scope}
	if diff := cmp.Diff([]string{"boxen.example.com", "boxen", "Cluster"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNotesAreNotPublished: what follows --- and lines with TODO are for those who read the source.
func TestNotesAreNotPublished(t *testing.T) {
	const max = "\n// +kubebuilder:validation:MaxLength=3"
	for _, tt := range []struct{ text, want string }{
		{"// Shown.\n// ---\n// A secret." + max, `"description":"Shown.","type":"string","maxLength":3`},
		{"// TODO(me): drop it." + max, `"type":"string","maxLength":3`},
		{"// Shown.\n//  TODO: no.\n// The TODO list.", `"description":"Shown.\nThe TODO list.","type":"string"`},
		{"// ~~~\n// ---\n// TODO\n// ~~~\n// ---\n// No.", `"description":"~~~\n---\nTODO\n~~~","type":"string"`},
	} {
		got, failed := specOf(t, tt.text+"\nA string\n}\n")
		want := `{"type":"object","required":["A"],"properties":{"A":{` + tt.want + `}}}`
		if diff := cmp.Diff([]string{want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestRequiredValueIsNotEmpty: as for controller-gen 0.23, unless a limit is given.
func TestRequiredValueIsNotEmpty(t *testing.T) {
	for _, tt := range []struct{ field, want string }{
		{"A string", `{"type":"string","minLength":1}`},
		{"A *string", `{"type":"string","minLength":1}`},
		{"// +k8s:minLength=0\nA string", `{"type":"string","minLength":0}`},
		{"A []string", `{"type":"array","minItems":1,"items":{"type":"string"}}`},
		{"A map[string]string", `{"type":"object","minProperties":1,"additionalProperties":{"type":"string"}}`},
		{"A int", `{"type":"integer"}`},
	} {
		got, failed := specOf(t, "// +k8s:required\n"+tt.field+"\n}\n")
		want := `{"type":"object","required":["A"],"properties":{"A":` + tt.want + `}}`
		if diff := cmp.Diff([]string{want, ""}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.field, diff)
		}
	}
}

// TestTitleAndExampleAreThoseOfAField: as for controller-gen they have no effect on a type.
func TestTitleAndExampleAreThoseOfAField(t *testing.T) {
	const title, example = "// +kubebuilder:title=", "\n// +kubebuilder:example="
	for _, tt := range []struct{ source, want, failed string }{
		{title + "The size" + example + "3\nA int\n}", `{"title":"The size","type":"integer","example":3}`, ""},
		{title + "`A \"b\"`" + example + "{a: x, n: 3}\nA map[string]string\n}", `{"title":"A \"b\"","type":"object","example":{"a":"x","n":3},"additionalProperties":{"type":"string"}}`, ""},
		{"A Size\n}\n" + title + "Of a type" + example + "3\ntype Size int", `{"type":"integer"}`, ""},
		{title + "A" + example + "null\nA int\n}", `{"title":"A","type":"integer","example":"null"}`, ""},
		{title + "\"a\"b\nA int\n}", "", "+kubebuilder:title: \"b\" follows a value"},
	} {
		got, failed := specOf(t, tt.source+"\n")
		want := ""
		if tt.want != "" {
			want = `{"type":"object","required":["A"],"properties":{"A":` + tt.want + `}}`
		}
		if diff := cmp.Diff([]string{want, tt.failed}, []string{got, failed}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.source, diff)
		}
	}
}
