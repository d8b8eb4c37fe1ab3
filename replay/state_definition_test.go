package replay_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestStateOutlivesDefinitions: streams are recorded as they arrive, so that changes of
// custom resources may come before or after those of their definition, and their version
// may be one that is not stored.
func TestStateOutlivesDefinitions(t *testing.T) {
	const streams = `{"t":"header","format":"lwrec","version":1}
{"t":"stream","id":1,"target":{"group":"apiextensions.k8s.io","version":"v1","plural":"customresourcedefinitions","kind":"CustomResourceDefinition"}}
{"t":"stream","id":2,"target":{"group":"g.example.com","version":"v1","plural":"foos","kind":"Foo","namespaced":true}}
`
	crd := func(typ, rv, uid, stored string) string {
		return `{"t":"ev","id":1,"type":"` + typ + `","rv":"` + rv + `","object":{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.g.example.com","uid":"` + uid + `"},` +
			`"spec":{"group":"g.example.com","names":{"plural":"foos","kind":"Foo"},"scope":"Namespaced","versions":[{"name":"` + stored + `","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}}` + "\n"
	}
	foo := func(typ, rv, name string) string {
		return `{"t":"ev","id":2,"type":"` + typ + `","rv":"` + rv + `","object":{"apiVersion":"g.example.com/v1","kind":"Foo","metadata":{"name":"` + name + `","namespace":"d","uid":"` + name + `"}}}` + "\n"
	}
	for name, c := range map[string]struct {
		events string
		want   []string
	}{
		"another version is stored": {crd("ADDED", "200", "u", "v1beta1") + foo("ADDED", "201", "a"), []string{"a"}},
		"deleted after it":          {crd("ADDED", "200", "u", "v1") + foo("ADDED", "201", "a") + crd("DELETED", "203", "u", "v1") + foo("DELETED", "202", "a"), nil},
		"created before it": {crd("ADDED", "200", "u", "v1") + crd("DELETED", "201", "u", "v1") + foo("ADDED", "203", "a") +
			crd("ADDED", "202", "w", "v1") + foo("ADDED", "204", "b"), []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := replay.Load(strings.NewReader(streams+c.events), 0)
				if err != nil {
					t.Fatal(err)
				}
				srv := apitest.NewInMemory(t)
				s, err := replay.NewState(t.Context(), r, srv)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
					t.Fatal(err)
				}
				var got []string
				if c.want != nil {
					foos := kube.Resource{Group: "g.example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
					for _, o := range apitest.Objects[kube.Partial](srv, foos) {
						got = append(got, o.Name)
					}
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}
