package replay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// playDefinitions plays events of definitions, of Foos and of Deployments into a server. Each
// line has second, stream, type, revision, name, and the spec of a definition.
func playDefinitions(t *testing.T, srv *apitest.Server, lines ...string) {
	t.Helper()
	text := `{"t":"header","format":"lwrec","version":1}
{"t":"stream","id":1,"target":{"group":"apiextensions.k8s.io","version":"v1","plural":"customresourcedefinitions","kind":"CustomResourceDefinition"}}
{"t":"stream","id":2,"target":{"group":"g.example.com","version":"v1","plural":"foos","kind":"Foo","namespaced":true}}
{"t":"stream","id":3,"target":{"group":"apps","version":"v1","plural":"deployments","kind":"Deployment","namespaced":true}}
`
	for _, l := range lines {
		f := append(strings.SplitN(l, " ", 6), "{}")
		namespace := map[bool]string{true: `"namespace":"d",`}[f[1] != "1"]
		at, err := time.ParseDuration(f[0] + "s")
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf(`{"t":"ev","at":%d,"id":%s,"type":%q,"rv":%q,"object":{"metadata":{%s"name":%q,"uid":"u"},"spec":%s}}`+"\n", at, f[1], f[2], f[3], namespace, f[4], f[5])
	}
	r, err := replay.Load(strings.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := replay.NewState(t.Context(), r, srv)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Play(t.Context(), replay.Pace{}); err != nil {
		t.Error(err)
	}
}

var foos = kube.Resource{Group: "g.example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}

// definition is the spec of one that serves v1.
func definition(group, plural, kind, scope string) string {
	return fmt.Sprintf(`{"group":%q,"names":{"plural":%q,"kind":%q},"scope":%q,"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}`, group, plural, kind, scope)
}

// TestStateOutlivesStrangeDefinitions: a definition may be replaced by one of another kind, and
// a recording may have one that serves nothing, or what is built in.
func TestStateOutlivesStrangeDefinitions(t *testing.T) {
	foo := definition("g.example.com", "foos", "Foo", "Namespaced")
	for name, c := range map[string]struct {
		lines []string
		foos  int
	}{
		"of another kind":            {[]string{"0 1 ADDED 100 foos.g.example.com " + foo, "1 1 DELETED 102 foos.g.example.com " + foo, "2 1 ADDED 103 foos.g.example.com " + definition("g.example.com", "foos", "Gizmo", "Namespaced"), "8 2 ADDED 101 a"}, 0},
		"of another scope":           {[]string{"0 1 ADDED 100 foos.g.example.com " + foo, "1 1 DELETED 102 foos.g.example.com " + foo, "2 1 ADDED 103 foos.g.example.com " + definition("g.example.com", "foos", "Foo", "Cluster"), "8 2 ADDED 101 a"}, 0},
		"of another kind, recorded":  {[]string{"0 2 ADDED 101 a", `1 2 ADDED 102 b {},"kind":"Gizmo"`, `2 2 DELETED 103 b {},"kind":"Gizmo"`, "3 2 ADDED 104 c"}, 2},
		"of another scope, recorded": {[]string{"0 2 ADDED 101 a", "1 2 DELETED 102 a", `2 2 ADDED 103 b {},"metadata":{"name":"b","uid":"u"}`, "3 2 ADDED 104 c"}, 1},
		"of another plural":          {[]string{"0 1 ADDED 100 foos.g.example.com " + definition("g.example.com", "bars", "Foo", "Namespaced"), "0 2 ADDED 101 a", "1 1 DELETED 102 foos.g.example.com", "2 2 MODIFIED 103 a"}, 1},
		"without a spec":             {[]string{"0 1 ADDED 100 foos.g.example.com", "0 2 ADDED 101 a", "1 1 DELETED 102 foos.g.example.com", "2 2 MODIFIED 103 a"}, 1},
		"without versions":           {[]string{"0 1 ADDED 100 foos.g.example.com " + foo, "0 2 ADDED 101 a", `1 1 MODIFIED 102 foos.g.example.com {"group":"g.example.com"}`, "2 2 MODIFIED 103 a"}, 1},
		"of what is built in": {[]string{"0 3 ADDED 99 x", "0 1 ADDED 100 deployments.apps " + definition("apps", "deployments", "Deployment", "Namespaced"), "1 1 DELETED 101 deployments.apps " +
			definition("apps", "deployments", "Deployment", "Namespaced"), "2 2 ADDED 102 a"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewInMemory(t)
				srv.Put(kube.Deployments, `{"metadata":{"namespace":"d","name":"web"}}`)
				playDefinitions(t, srv, c.lines...)
				if got := len(apitest.Objects[kube.Partial](srv, foos)); c.foos > 0 && got != c.foos {
					t.Errorf("%d Foos", got)
				}
				if got := len(apitest.Objects[kube.Partial](srv, kube.Deployments)); got == 0 {
					t.Error("the deployments are gone")
				}
			})
		})
	}
}

// TestStateOutlivesAClientThatDeletesADefinition: the next change has the resource served again.
func TestStateOutlivesAClientThatDeletesADefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		request := func(method, path, body string, want int) {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s %s: %s", method, path, resp.Status)
			}
		}
		go func() {
			<-time.After(5 * time.Second)
			request("POST", path, `{"metadata":{"name":"foos.g.example.com"},"spec":`+definition("g.example.com", "foos", "Foo", "Namespaced")+`}`, 201)
			request("DELETE", path+"/foos.g.example.com", "", 200)
			request("GET", foos.Path("d"), "", 404)
		}()
		playDefinitions(t, srv, "0 2 ADDED 100 a", "10 2 DELETED 101 a", "11 2 ADDED 102 b")
		if got := apitest.Objects[kube.Partial](srv, foos); len(got) != 1 || got[0].Name != "b" {
			t.Errorf("%d Foos", len(got))
		}
	})
}
