package discovery

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// FuzzParse reads any bytes in each of the forms: what is added to an API has names that
// Kubernetes allows, and is resolved by them.
func FuzzParse(f *testing.F) {
	err := filepath.WalkDir("testdata", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		f.Add(b)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		`{"kind":"APIGroupList","groups":[{"name":"a.b","versions":[{"version":"v1"},{"version":"v2"}],"preferredVersion":{"version":"v2"}}]}`,
		`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"a.b"},"versions":[{"version":"v1","freshness":"Stale","resources":[{"resource":"as","responseKind":{"kind":"A"},"scope":"Namespaced","shortNames":["x"]}]}]}]}`,
		`{"kind":"APIResourceList","resources":[{"name":"as","kind":"A","singularName":"a","shortNames":["x"],"categories":["all"],"verbs":["list","watch"]}]}`,
		`{"kind":"APIVersions","versions":["v1"]}`, `{"kind":null}`, `null`, `[]`, `{"kind":"APIResourceList","resources":[{"name":"\u001b[31m","kind":"A"}]}`,
	} {
		f.Add([]byte(s))
	}
	forms := map[string]func([]byte) (page, error){
		"aggregated": parseAggregated, "versions": parseVersions, "groups": parseGroups,
		"resources": func(b []byte) (page, error) {
			rs, err := parseResources(b, "a.b", "v1")
			return page{[]version{{group: "a.b", name: "v1", preferred: true, resources: rs}}}, err
		},
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, parse := range forms {
			p, err := parse(b)
			if syntax := (*codec.SyntaxError)(nil); !json.Valid(b) && !errors.As(err, &syntax) {
				t.Fatalf("%s: %q is not JSON: %v", name, b, err)
			}
			if err != nil {
				continue
			}
			a := &API{broken: map[string]error{}}
			for _, v := range p.versions {
				a.add(v)
				if v.path != "" && strings.Count(v.path, "/") > 3 {
					t.Fatalf("%s: %q is asked for", name, v.path)
				}
			}
			for r := range a.All() {
				if err := kube.CheckResource(r.Resource); err != nil {
					t.Fatalf("%s: %v of %q", name, err, b)
				}
				found, err := a.Resolve(r.Plural + "." + r.Version + "." + r.Group)
				if err != nil || found[0].Plural != r.Plural || found[0].Group != r.Group || found[0].Version != r.Version {
					t.Fatalf("%s: %v is resolved as %v, %v", name, r.Resource, found, err)
				}
			}
			for broken := range a.Broken() {
				if err := kube.CheckName(broken); err != nil && kube.CleanName(broken) == broken {
					t.Fatalf("%s: %q: %v", name, broken, err)
				}
			}
		}
	})
}
