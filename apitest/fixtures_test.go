package apitest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// failures is a test that goes on when it fails.
type failures struct {
	*testing.T
	texts []string
}

func (f *failures) Fatalf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// TestPutYAMLIsReadBackTyped: documents become objects, of a kind too that one of them
// defines, and come back as structs.
func TestPutYAMLIsReadBackTyped(t *testing.T) {
	type widget struct {
		Metadata struct{ Name string }
		Spec     struct{ Size int }
	}
	srv := apitest.NewInMemory(t)
	rev := srv.PutYAML(`# a widget and its definition
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {namespace: a, name: w}
spec: {size: 7}
`)
	want := widget{}
	want.Metadata.Name, want.Spec.Size = "w", 7
	got, ok := apitest.Object[widget](srv, widgetsV1, kube.Key{Namespace: "a", Name: "w"})
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("%v (-want +got):\n%s", ok, diff)
	}
	if diff := cmp.Diff([]widget{want}, apitest.Objects[widget](srv, widgetsV1)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if _, ok := apitest.Object[widget](srv, widgetsV1, kube.Key{Namespace: "a", Name: "x"}); ok {
		t.Error("there is an object x")
	}
	if rev != srv.Revision() {
		t.Errorf("revision %s, want %s", rev, srv.Revision())
	}
}

// TestFixturesThatDoNotFitFailTheTest: what is no YAML, of no kind that is known, or of
// another type than T.
func TestFixturesThatDoNotFitFailTheTest(t *testing.T) {
	f := &failures{T: t}
	srv := apitest.NewInMemory(f)
	srv.PutYAML("a: b: c")
	srv.PutYAML("kind: Widget\napiVersion: example.com/v1")
	srv.PutYAML("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: a, name: c}\ndata: {k: v}")
	apitest.Object[struct{ Data string }](srv, kube.ConfigMaps, kube.Key{Namespace: "a", Name: "c"})
	apitest.Objects[struct{ Data []int }](srv, kube.ConfigMaps)
	want := []string{
		"apitest: document 1: not valid YAML",
		`apitest: document 1, line 1: the server has no kind "Widget" in "example.com/v1"`,
		"apitest: decode configmaps a/c: json: cannot unmarshal object into Go struct field .Data of type string",
		"apitest: decode object 1 of configmaps: json: cannot unmarshal object into Go struct field .Data of type []int",
	}
	if diff := cmp.Diff(want, f.texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
