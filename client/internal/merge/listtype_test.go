package merge

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write listtypes.txt")

// openAPI is a schema of kube-apiserver's /openapi/v3, as far as lists go.
type openAPI struct {
	Ref        string              `json:"$ref"`
	AllOf      []openAPI           `json:"allOf"`
	Type       string              `json:"type"`
	Default    any                 `json:"default"`
	Properties map[string]*openAPI `json:"properties"`
	Items      *openAPI            `json:"items"`
	Extra      any                 `json:"additionalProperties"`
	ListType   string              `json:"x-kubernetes-list-type"`
	ListKeys   []string            `json:"x-kubernetes-list-map-keys"`
	MergeKey   string              `json:"x-kubernetes-patch-merge-key"`
	Kinds      []struct{ Group, Version, Kind string }
}

// ref returns the component that s refers to.
func (s *openAPI) ref() string {
	ref := s.Ref
	if ref == "" && len(s.AllOf) == 1 {
		ref = s.AllOf[0].Ref
	}
	return strings.TrimPrefix(ref, "#/components/schemas/")
}

// TestListTypes: the embedded table is what the OpenAPI documents of the fake say, which
// are those of a real kube-apiserver.
func TestListTypes(t *testing.T) {
	b, err := os.ReadFile("../../../apitest/internal/schema/openapi/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	b = []byte(strings.ReplaceAll(string(b), `"x-kubernetes-group-version-kind":`, `"Kinds":`))
	var components map[string]*openAPI
	if err := json.Unmarshal(b, &components); err != nil {
		t.Fatal(err)
	}
	delete(components, "")
	lines := map[string]string{} // of components that lead to a list with keys
	for again := true; again; {  // until nothing is new: types may contain themselves
		again = false
		for name, c := range components {
			if line := lineOf(c, components, lines); line != lines[name] {
				lines[name], again = line, true
			}
		}
	}
	meta := "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	var table []string
	used := map[string]bool{}
	var use func(line string)
	use = func(line string) {
		for field := range strings.FieldsSeq(line) {
			_, of, _ := strings.Cut(field, ">")
			for name, line := range lines {
				if short(name) == of && !used[name] {
					used[name] = true
					if line != "" {
						table = append(table, of+" "+line)
					}
					use(line)
				}
			}
		}
	}
	table = append(table, "* metadata>"+short(meta))
	use(table[0])
	for name, c := range components {
		if p := c.Properties["metadata"]; p == nil || p.ref() != meta {
			continue
		}
		for _, k := range c.Kinds {
			apiVersion := strings.TrimPrefix(k.Group+"/"+k.Version, "/")
			if lines[name] != "metadata>"+short(meta) {
				table = append(table, apiVersion+","+k.Kind+" "+lines[name])
				use(lines[name])
			}
		}
	}
	slices.Sort(table)
	got := strings.Join(slices.Compact(table), "\n") + "\n"
	if *update {
		if err := os.WriteFile("listtypes.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		listTypes = got
	}
	if diff := cmp.Diff(got, listTypes); diff != "" {
		t.Errorf("listtypes.txt (-want +got), run with -update:\n%s", diff)
	}
	if len(listTypes) > 20_000 {
		t.Errorf("the table has %d bytes", len(listTypes))
	}
}

// lineOf describes c; it is empty where no list with keys is in reach.
func lineOf(c *openAPI, components map[string]*openAPI, lines map[string]string) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(c.Properties)) {
		p := c.Properties[name]
		of, keys := p.ref(), ""
		if p.Type == "array" && p.Items != nil {
			of = p.Items.ref()
			keys = keysOfList(p, components[of])
		}
		if of == "" || keys == "" && lines[of] == "" {
			continue
		}
		if keys != "" {
			name += "=" + keys
		}
		fields = append(fields, name+">"+short(of))
	}
	return strings.Join(fields, " ")
}

func keysOfList(list, element *openAPI) string {
	keys := list.ListKeys
	if list.ListType != "map" {
		keys = nil
		if list.MergeKey != "" {
			keys = []string{list.MergeKey}
		}
	}
	var texts []string
	for _, key := range keys {
		if p := element.Properties[key]; p != nil && p.Default != nil && p.Default != "" && p.Type == "string" {
			key += ":" + p.Default.(string)
		}
		texts = append(texts, key)
	}
	return strings.Join(texts, ",")
}

// short is the name of a component in the table: core.v1.PodSpec.
func short(name string) string {
	parts := strings.Split(name, ".")
	return strings.Join(parts[max(0, len(parts)-3):], ".")
}
