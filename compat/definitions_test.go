package compat_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	examples "sigs.k8s.io/controller-runtime/examples/crd/pkg"

	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

const chaosPods = "sigs.k8s.io/controller-runtime/examples/crd/pkg"

// generated returns the definition that controller-gen makes of a public type, without
// what the server adds or what is for people only.
func generated(t *testing.T) map[string]any {
	t.Helper()
	dir := t.TempDir()
	command(t, "go", "tool", "controller-gen", "crd:maxDescLen=0,generateEmbeddedObjectMeta=true", "paths="+chaosPods, "output:dir="+dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("controller-gen wrote %d files, %v: want one", len(files), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	o := documents(t, b)[0]
	delete(o["metadata"].(map[string]any), "annotations")
	for _, v := range o["spec"].(map[string]any)["versions"].([]any) {
		v := v.(map[string]any)
		if s, ok := v["subresources"].(map[string]any); ok && len(s) == 0 {
			delete(v, "subresources")
		}
		properties := rootSchema(v)["properties"].(map[string]any)
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			delete(properties, name)
		}
	}
	return o
}

func rootSchema(version map[string]any) map[string]any {
	return version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

// documents returns the objects in YAML as JSON has them.
func documents(t *testing.T, b []byte) (list []map[string]any) {
	t.Helper()
	for dec := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var y, o map[string]any
		if err := dec.Decode(&y); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(y)
		if err == nil {
			err = json.Unmarshal(text, &o)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
}

func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return out
}

// TestDefinitionsFromMarkersAreControllerGens compares listwatch crd --from-markers with
// controller-gen, on a public type that holds a whole Pod template: 5,000 lines.
func TestDefinitionsFromMarkersAreControllerGens(t *testing.T) {
	program := filepath.Join(t.TempDir(), "listwatch")
	command(t, "go", "build", "-C", "..", "-o", program, "./cmd/listwatch")
	dir := strings.TrimSpace(string(command(t, "go", "list", "-f", "{{.Dir}}", chaosPods)))
	got := documents(t, command(t, program, "crd", "--from-markers", dir))
	if len(got) != 1 {
		t.Fatalf("%d definitions, want one", len(got))
	}
	if diff := cmp.Diff(generated(t), without(got[0], "description")); diff != "" {
		t.Errorf("(-controller-gen +listwatch):\n%s", diff)
	}
}

// TestDefinitionsByReflectionHaveControllerGensTypes compares the types that crd.Of finds
// by reflection, without markers, with those of controller-gen.
func TestDefinitionsByReflectionHaveControllerGensTypes(t *testing.T) {
	r := kube.Resource{Group: "chaosapps.metamagical.io", Version: "pkg", Plural: "chaospods", Kind: "ChaosPod", Namespaced: true}
	d, err := crd.Of[*examples.ChaosPod](r, crd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	first := func(o map[string]any) map[string]any {
		return rootSchema(o["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any))
	}
	// What is in the source only: markers, and descriptions.
	markers := []string{"description", "default", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "required",
		"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"}
	want, got := without(first(generated(t)), markers...), without(first(documents(t, b)[0]), markers...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-controller-gen +crd.Of):\n%s", diff)
	}
}

// without returns a schema without some of its words.
func without(v any, names ...string) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = without(v[i], names...)
		}
		return list
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			word := slices.Contains(names, k) && (reflect.TypeOf(e).Kind() != reflect.Map || k == "default")
			if properties, ok := e.(map[string]any); ok && k == "properties" { // whose keys are no words
				members := map[string]any{}
				for name, p := range properties {
					members[name] = without(p, names...)
				}
				out[k] = members
			} else if !word {
				out[k] = without(e, names...)
			}
		}
		return out
	}
	return v
}
