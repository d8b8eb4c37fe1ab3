package apitest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// names returns the names of the objects of r.
func names(srv *apitest.Server, r kube.Resource) []string {
	list := []string{}
	objects, _ := srv.List(r)
	for _, b := range objects {
		_, rest, _ := strings.Cut(string(b), `"name":"`)
		name, _, _ := strings.Cut(rest, `"`)
		list = append(list, name)
	}
	return list
}

// TestCreateWhileItsNamespaceIsDeleted: the namespace that was there when a create
// began is gone when the object is to be stored.
func TestCreateWhileItsNamespaceIsDeleted(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, Namespaces: true})
	srv.Put(kube.Namespaces, `{"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]}}`)
	srv.Validate(apitest.Match{Verb: "create", Resource: "configmaps"}, func(*apitest.Admission) error {
		code, body := do(t, srv, http.MethodDelete, "/api/v1/namespaces/a", "")
		if code != http.StatusOK {
			t.Errorf("%d %s", code, body)
		}
		return nil
	})
	code, body := do(t, srv, http.MethodPost, configMaps, `{"metadata":{"name":"x"}}`)
	if code != http.StatusNotFound {
		t.Errorf("%d %s, want 404", code, body)
	}
	if left := names(srv, kube.ConfigMaps); len(left) > 0 {
		t.Errorf("%v in a namespace that is gone", left)
	}
}

// TestCreateWhileItsDefinitionIsDeleted: likewise with a CustomResourceDefinition.
func TestCreateWhileItsDefinitionIsDeleted(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	srv.Put(kube.CustomResourceDefinitions, stateCRD)
	srv.Validate(apitest.Match{Verb: "create", Resource: "widgets"}, func(*apitest.Admission) error {
		srv.Delete(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"})
		return nil
	})
	code, body := do(t, srv, http.MethodPost, "/apis/example.com/v1/namespaces/a/widgets", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"}}`)
	if code != http.StatusNotFound {
		t.Errorf("%d %s, want 404", code, body)
	}
}

// TestListWhileItsDefinitionIsReplaced: who lists what is gone gets 404, and no empty list at a
// revision of the new objects, from which they would never be seen.
func TestListWhileItsDefinitionIsReplaced(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	foos := apitest.ResourceInfo{Resource: kube.Resource{Group: "g.example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}}
	srv.AddResource(foos)
	srv.On(apitest.Match{Verb: "list", Resource: "foos.g.example.com"}, func(w http.ResponseWriter, r *http.Request) {
		srv.RemoveResource(foos.Resource)
		srv.AddResource(foos)
		srv.Put(foos.Resource, `{"metadata":{"namespace":"d","name":"new"}}`)
		apitest.Continue(w, r)
	}).Times(1)
	for _, want := range []int{404, 200} {
		code, body := do(t, srv, http.MethodGet, foos.Path("d"), "")
		if code != want || (code == 200) != strings.Contains(body, `"new"`) {
			t.Errorf("%d %s, want %d", code, body, want)
		}
	}
}

// TestWatchWhileItsVersionIsUnserved ends, as those do that had begun.
func TestWatchWhileItsVersionIsUnserved(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	define := func(served bool) string {
		const version = `{"name":%q,"served":%v,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object"}}}`
		return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.g.example.com"},"spec":{"group":"g.example.com","scope":"Cluster",
			"names":{"plural":"foos","kind":"Foo"},"versions":[`+version+`,`+version+`]}}`, "v1", true, true, "v2", served, false)
	}
	if code, body := do(t, srv, http.MethodPost, definitions, define(true)); code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	srv.On(apitest.Match{Verb: "watch", Resource: "foos.g.example.com"}, func(w http.ResponseWriter, r *http.Request) {
		if code, body := do(t, srv, http.MethodPatch, definitions+"/foos.g.example.com", define(false), "Content-Type", "application/merge-patch+json"); code != 200 {
			t.Errorf("%d %s", code, body)
		}
		apitest.Continue(w, r)
	}).Times(1)
	if code, body := do(t, srv, http.MethodGet, "/apis/g.example.com/v2/foos?watch=true", ""); code != 200 || body != "" {
		t.Errorf("%d %s", code, body)
	}
}

// TestDefinitionReplacesWhatHasAnotherKind: objects that were served without a definition, by
// another kind or scope, are gone with it.
func TestDefinitionReplacesWhatHasAnotherKind(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	foos := kube.Resource{Group: "g.example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
	srv.AddResource(apitest.ResourceInfo{Resource: foos})
	srv.Put(foos, `{"metadata":{"namespace":"d","name":"a"}}`)
	const version = `{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object"}}}`
	code, body := do(t, srv, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{"metadata":{"name":"foos.g.example.com"},"spec":{"group":"g.example.com","scope":"Cluster",
		"names":{"plural":"foos","kind":"Gizmo"},"versions":[`+version+`,`+version+`]}}`, "v1", true, "v2", false))
	if code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	for _, v := range []string{"v1", "v2"} {
		code, body := do(t, srv, http.MethodGet, "/apis/g.example.com/"+v+"/foos", "")
		if code != 200 || !strings.Contains(body, `"kind":"GizmoList"`) || !strings.Contains(body, `"items":[]`) {
			t.Errorf("%s: %d %s", v, code, body)
		}
	}
}

// TestGarbageWhenOwnersChange: a dependent that lets its owner go, or gets one that is gone.
func TestGarbageWhenOwnersChange(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
	const maps = "/api/v1/namespaces/d/configmaps"
	uid := func(name string) string {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"d","name":%q}}`, name))
		var o kube.Partial
		if err := json.Unmarshal(srv.Get(kube.ConfigMaps, kube.Key{Namespace: "d", Name: name}), &o); err != nil {
			t.Fatal(err)
		}
		return o.UID
	}
	ref := func(name, uid string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"blockOwnerDeletion":true}`, name, uid)
	}
	request := func(method, path, body string) {
		t.Helper()
		if code, answer := do(t, srv, method, path, body); code > 299 {
			t.Fatalf("%s %s: %d %s", method, path, code, answer)
		}
	}
	left := func(want ...string) {
		t.Helper()
		var names []string
		for _, o := range apitest.Objects[kube.Partial](srv, kube.ConfigMaps) {
			names = append(names, o.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	patch := func(name, patch string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, srv.URL+maps+"/"+name, strings.NewReader(patch))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/merge-patch+json")
		resp, err := srv.Client().Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	owner, other := uid("owner"), uid("other")
	request("POST", maps, `{"metadata":{"name":"child","finalizers":["example.com/wait"],"ownerReferences":[`+ref("owner", owner)+`]}}`)
	request("DELETE", maps+"/owner", `{"propagationPolicy":"Foreground"}`)
	left("child", "other", "owner")
	patch("child", `{"metadata":{"ownerReferences":[`+ref("other", other)+`]}}`)
	left("child", "other")
	// One of two owners is gone: the other one stays.
	request("POST", maps, `{"metadata":{"name":"half","ownerReferences":[`+ref("owner", owner)+","+ref("other", other)+`]}}`)
	if got := string(srv.Get(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "half"})); strings.Contains(got, `"name":"owner"`) || !strings.Contains(got, `"name":"other"`) {
		t.Errorf("with one owner left: %s", got)
	}
	patch("half", `{"metadata":{"ownerReferences":[`+ref("owner", owner)+`]}}`)
	left("child", "other")
}

// TestGarbageThatIsBeingDeletedKeepsItsOwners: the collector leaves it to its finalizers.
func TestGarbageThatIsBeingDeletedKeepsItsOwners(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
	put := func(name, meta string) {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%[1]q,"uid":%[1]q%s}}`, name, meta))
	}
	const ref = `{"apiVersion":"v1","kind":"ConfigMap","name":%[1]q,"uid":%[1]q}`
	put("owner", "")
	put("other", "")
	put("held", `,"finalizers":["example.com/wait"],"ownerReferences":[`+fmt.Sprintf(ref, "owner")+","+fmt.Sprintf(ref, "other")+"]")
	for _, name := range []string{"held", "owner"} {
		if code, body := do(t, srv, http.MethodDelete, configMaps+"/"+name, ""); code != http.StatusOK {
			t.Fatalf("delete %s: %d %s", name, code, body)
		}
	}
	var owners []string
	held, _ := apitest.Object[kube.Partial](srv, kube.ConfigMaps, kube.Key{Namespace: "a", Name: "held"})
	for _, ref := range held.OwnerReferences {
		owners = append(owners, ref.Name)
	}
	if diff := cmp.Diff([]string{"owner", "other"}, owners); diff != "" {
		t.Errorf("its owners (-want +got):\n%s", diff)
	}
}

// TestDefinitionsOfBuiltInResourcesAreRefused, as by kube-apiserver, whose groups without a dot
// are its own.
func TestDefinitionsOfBuiltInResourcesAreRefused(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	code, body := do(t, srv, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"deployments.apps"},"spec":{"group":"apps","scope":"Namespaced",
		"names":{"plural":"deployments","kind":"Deployment"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
	if want := `spec.group: Invalid value: \"apps\": should be a domain with at least one dot`; code != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
		t.Errorf("%d %s, want 422 with %s", code, body, want)
	}
}

// TestDefinitionWaitsForFinalizers: a definition is gone only when the finalizers of
// all its objects are, and nothing is created meanwhile.
func TestDefinitionWaitsForFinalizers(t *testing.T) {
	const definition, all = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com", "/apis/example.com/v1/namespaces/a/widgets"
	srv := apitest.NewWith(t, apitest.Options{InMemory: true})
	srv.Put(kube.CustomResourceDefinitions, stateCRD)
	srv.Put(widgetsV1, `{"metadata":{"namespace":"a","name":"held","finalizers":["example.com/f"]}}`)
	srv.Put(widgetsV1, `{"metadata":{"namespace":"a","name":"free"}}`)
	if code, body := do(t, srv, http.MethodDelete, definition, ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if diff := cmp.Diff([]string{"held"}, names(srv, widgetsV1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	crd := string(srv.Get(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"}))
	for _, want := range []string{`"deletionTimestamp":"`, `"finalizers":["customresourcecleanup.apiextensions.k8s.io"]`, `"type":"Terminating"`} {
		if !strings.Contains(crd, want) {
			t.Errorf("the definition is without %s: %s", want, crd)
		}
	}
	for meta, want := range map[string]string{
		`"name":"late"`:          `"message":"widgets.example.com \"late\" is forbidden: create not allowed while custom resource definition is terminating","reason":"Forbidden","details":{"name":"late","group":"example.com","kind":"widgets"},"code":403}`,
		`"generateName":"late-"`: `"message":"widgets.example.com is forbidden: create not allowed while custom resource definition is terminating","reason":"Forbidden","details":{"group":"example.com","kind":"widgets"},"code":403}`,
	} {
		if code, body := do(t, srv, http.MethodPost, all, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{`+meta+`}}`); code != http.StatusForbidden || !strings.Contains(body, want) {
			t.Errorf("a create with %s: %d %s, want 403 with %s", meta, code, body, want)
		}
	}
	if code, body := do(t, srv, http.MethodDelete, definition, ""); code != http.StatusOK {
		t.Errorf("a second delete: %d %s", code, body)
	}
	if code, body := do(t, srv, http.MethodPatch, all+"/held", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if b := srv.Get(kube.CustomResourceDefinitions, kube.Key{Name: "widgets.example.com"}); b != nil {
		t.Errorf("the definition is still there: %s", b)
	}
	if code, _ := do(t, srv, http.MethodGet, all, ""); code != http.StatusNotFound {
		t.Errorf("the resource is still served: %d", code)
	}
}

// TestRestoreOverTheLifeOfADefinition: after a restore the definitions of that
// revision, and no others, are served, with their objects.
func TestRestoreOverTheLifeOfADefinition(t *testing.T) {
	const all = "/apis/example.com/v1/widgets"
	crd := kube.Key{Name: "widgets.example.com"}
	begin := func(t *testing.T) (srv *apitest.Server, before, with, after kube.Revision) {
		srv = apitest.NewWith(t, apitest.Options{InMemory: true})
		before = srv.Put(kube.ConfigMaps, configMap("x", "1"))
		srv.Put(kube.CustomResourceDefinitions, stateCRD)
		with = srv.Put(widgetsV1, `{"metadata":{"namespace":"a","name":"first"}}`)
		srv.Delete(kube.CustomResourceDefinitions, crd)
		after = srv.Revision()
		srv.Put(kube.CustomResourceDefinitions, stateCRD)
		srv.Put(widgetsV1, `{"metadata":{"namespace":"a","name":"second"}}`)
		return srv, before, with, after
	}
	check := func(t *testing.T, srv *apitest.Server, want ...string) {
		t.Helper()
		code, body := do(t, srv, http.MethodGet, all, "")
		if want == nil {
			if code != http.StatusNotFound || srv.Get(kube.CustomResourceDefinitions, crd) != nil {
				t.Errorf("still served: %d %s", code, body)
			}
			return
		}
		if code != http.StatusOK {
			t.Fatalf("there and not served: %d %s", code, body)
		}
		if diff := cmp.Diff(want, names(srv, widgetsV1)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		rv := srv.Put(widgetsV1, `{"metadata":{"namespace":"a","name":"later"}}`)
		if code, body := do(t, srv, http.MethodGet, all+"?resourceVersionMatch=Exact&limit=1&resourceVersion="+string(rv), ""); code != http.StatusOK {
			t.Errorf("a list at %s: %d %s", rv, code, body)
		}
	}
	t.Run("before its first life", func(t *testing.T) {
		srv, before, _, _ := begin(t)
		srv.RestoreTo(before)
		check(t, srv)
	})
	t.Run("in its first life", func(t *testing.T) {
		srv, _, with, _ := begin(t)
		srv.RestoreTo(with)
		check(t, srv, "first")
	})
	t.Run("between its lives", func(t *testing.T) {
		srv, _, _, after := begin(t)
		srv.RestoreTo(after)
		check(t, srv)
	})
	t.Run("back and forth", func(t *testing.T) {
		srv, before, with, _ := begin(t)
		srv.RestoreTo(with)
		check(t, srv, "first")
		srv.RestoreTo(before)
		check(t, srv)
		srv.Put(kube.CustomResourceDefinitions, stateCRD)
		check(t, srv, make([]string, 0, 1)...)
	})
	t.Run("by a fault", func(t *testing.T) {
		srv, before, _, _ := begin(t)
		srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, faults.Restore(1000)).Times(1)
		if resp, err := send(t.Context(), srv, http.MethodGet, configMaps, ""); err == nil {
			resp.Body.Close()
			t.Error("the fault did not strike")
		}
		if rv := srv.Revision(); rv != "100" {
			t.Errorf("restored to %s, want 100, before %s", rv, before)
		}
		check(t, srv)
	})
}

// TestForegroundDeletionOfACycle: whoever owns each other goes together.
func TestForegroundDeletionOfACycle(t *testing.T) {
	for size := 2; size <= 4; size++ {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
		for i := range size {
			srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"o%d","uid":"u%d","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u%d","blockOwnerDeletion":true}]}}`, i, i, (i+1)%size))
		}
		do(t, srv, http.MethodDelete, configMaps+"/o0?propagationPolicy=Foreground", "")
		if left := names(srv, kube.ConfigMaps); len(left) > 0 {
			t.Errorf("of a cycle of %d, %v are left", size, left)
		}
	}
}

// TestForegroundDeletionOfOneOwner: a dependent that another owner keeps does not
// block the deletion.
func TestForegroundDeletionOfOneOwner(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
	for _, name := range []string{"one", "two"} {
		srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q,"uid":%q}}`, name, name))
	}
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"dependent","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"one","uid":"one","blockOwnerDeletion":true},{"apiVersion":"v1","kind":"ConfigMap","name":"two","uid":"two"}]}}`)
	do(t, srv, http.MethodDelete, configMaps+"/one?propagationPolicy=Foreground", "")
	if diff := cmp.Diff([]string{"dependent", "two"}, names(srv, kube.ConfigMaps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCreatedWithoutOwner: an operator that has not seen a deletion yet creates a dependent
// of what is gone, which a garbage collector finds too.
func TestCreatedWithoutOwner(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, CollectGarbage: true})
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"owner","uid":"one"}}`)
	for name, uid := range map[string]string{"kept": "one", "late": "zero"} {
		do(t, srv, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]}}`, name, uid))
	}
	if diff := cmp.Diff([]string{"kept", "owner"}, names(srv, kube.ConfigMaps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLongChainOfOwners: the work grows with the chain, not with its square.
func TestLongChainOfOwners(t *testing.T) {
	chain := func(n int) float64 {
		return testing.AllocsPerRun(1, func() {
			srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true})
			defer srv.Close()
			for i := range n {
				srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"o%d","uid":"u%d","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u%d"}]}}`, i, i, i+1))
			}
			srv.CollectGarbage()
			if left := names(srv, kube.ConfigMaps); len(left) > 0 {
				t.Fatalf("%d are left", len(left))
			}
		})
	}
	if short, long := chain(200), chain(800); long > 8*short {
		t.Errorf("%.0f allocations for 200 owners, %.0f for 800", short, long)
	}
}

// TestReadsDoNotChangeTheCluster: the same writes make the same objects, whatever is
// read between them.
func TestReadsDoNotChangeTheCluster(t *testing.T) {
	run := func(t *testing.T, reads bool) string {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, Seed: 5})
		var all []string
		for range 3 {
			if reads {
				w := watch(t, srv, configMaps+"?watch=1")
				if err := srv.WaitForWatches(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				srv.CloseWatches()
				for err := error(nil); err == nil; {
					_, err = w.line()
				}
				if err := srv.WaitForWatches(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
			_, body := do(t, srv, http.MethodPost, configMaps, `{"metadata":{"generateName":"x-"}}`)
			_, rest, _ := strings.Cut(body, `"name":"`)
			name, rest, _ := strings.Cut(rest, `"`)
			_, rest, _ = strings.Cut(rest, `"uid":"`)
			all = append(all, name+" "+rest[:36])
		}
		return strings.Join(all, "\n")
	}
	if diff := cmp.Diff(run(t, false), run(t, true)); diff != "" {
		t.Errorf("(-without +with):\n%s", diff)
	}
}
