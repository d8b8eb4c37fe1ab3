package apitest_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

func pod(name, phase, node string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"spec":{"nodeName":%q,"containers":[{"name":"c"}]},"status":{"phase":%q}}`, name, node, phase)
}

func TestPutOfTheSameIsNoEvent(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		if rv := srv.Put(kube.ConfigMaps, `{"data": {"k": "1"}, "metadata": {"name": "x", "namespace": "a"}}`); rv != "101" {
			t.Errorf("the object is at %s", rv)
		}
		if rv := srv.Revision(); rv != "103" {
			t.Errorf("the server is at %s", rv)
		}
	})
}

func TestPutTakesBytesStringsAndValues(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		meta := kube.Meta{Namespace: "a", Name: "v"}
		srv.Put(kube.ConfigMaps, []byte(`{"metadata":{"namespace":"a","name":"b"}}`))
		srv.Put(kube.ConfigMaps, kube.Partial{Meta: meta})
		srv.Put(kube.ConfigMaps, map[string]any{"metadata": map[string]any{"namespace": "a", "name": "m"}})
		var names []string
		bodies, rv := srv.List(kube.ConfigMaps)
		for _, b := range bodies {
			names = append(names, field(t, string(b), "metadata", "name"))
		}
		if diff := cmp.Diff("b m v x y z at 106", strings.Join(names, " ")+" at "+string(rv)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSeedFixesIdentity(t *testing.T) {
	uid := func(seed uint64) (uid string) {
		story(t, apitest.Options{Seed: seed}, func(t *testing.T, srv *apitest.Server) {
			uid = field(t, string(srv.Get(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "z"})), "metadata", "uid")
		})
		return uid
	}
	first, again, other := uid(1), uid(1), uid(2)
	if first != again || first == other || len(first) != 36 {
		t.Errorf("uids %s %s %s", first, again, other)
	}
}

func TestFieldSelectorsOfPods(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.Put(kube.Pods, pod("p", "Pending", ""))
		srv.Put(kube.Pods, pod("q", "Running", "n1"))
		for query, want := range map[string]string{
			"status.phase%3DRunning":                       "q",
			"status.phase!%3DRunning":                      "p",
			"spec.nodeName%3D":                             "p",
			"spec.nodeName%3Dn1,metadata.name%3Dq":         "q",
			"spec.nodeName%3Dn1,status.phase%3DTerminated": "",
			"spec.hostNetwork%3Dfalse":                     "pq",
			"spec.hostNetwork%3Dtrue":                      "",
		} {
			_, body := get(t, srv, "/api/v1/pods?fieldSelector="+query)
			got := ""
			for _, name := range []string{"p", "q"} {
				if strings.Contains(body, `"name":"`+name+`"`) {
					got += name
				}
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		w := watch(t, srv, "/api/v1/pods?watch=1&resourceVersion=105&fieldSelector=status.phase%3DRunning")
		srv.Put(kube.Pods, pod("p", "Running", "n1"))
		srv.Put(kube.Pods, pod("p", "Failed", "n1"))
		w.want("ADDED p 106", "DELETED p 107")
		if code, body := get(t, srv, "/api/v1/pods?fieldSelector=spec.nothing%3Dx"); code != 400 || !strings.Contains(body, "field label not supported: spec.nothing") {
			t.Errorf("unknown field: %d %s", code, body)
		}
	})
}

func TestStatusIsWrittenApart(t *testing.T) {
	story(t, apitest.Options{NoValidation: true}, func(t *testing.T, srv *apitest.Server) {
		const path = "/apis/apps/v1/namespaces/a/deployments"
		read := func(body string) string {
			var d struct {
				Metadata struct{ Generation int }
				Spec     struct{ Replicas int }
				Status   struct{ Replicas int }
			}
			if err := json.Unmarshal([]byte(body), &d); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("generation %d spec %d status %d", d.Metadata.Generation, d.Spec.Replicas, d.Status.Replicas)
		}
		for _, c := range []struct{ method, path, spec, want string }{
			{"POST", "", `"spec":{"replicas":1},"status":{"replicas":9}`, "generation 1 spec 1 status 0"},
			{"PUT", "/d/status", `"spec":{"replicas":9},"status":{"replicas":1}`, "generation 1 spec 1 status 1"},
			{"PUT", "/d", `"spec":{"replicas":2},"status":{"replicas":9}`, "generation 2 spec 2 status 1"},
			{"PUT", "/d", `"spec":{"replicas":2}`, "generation 2 spec 2 status 1"},
		} {
			if _, body := do(t, srv, c.method, path+c.path, `{"metadata":{"name":"d"},`+c.spec+`}`); read(body) != c.want {
				t.Errorf("%s %s: %s, want %s", c.method, c.path, body, c.want)
			}
		}
		if code, _ := get(t, srv, path+"/d/status"); code != 200 {
			t.Errorf("get of the status: %d", code)
		}
		if rv := srv.Revision(); rv != "106" {
			t.Errorf("the server is at %s after three changes", rv)
		}
	})
}

func TestCompactedHistoryIsGone(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=101")
		srv.Compact("102")
		w.want("ADDED y 102", "ADDED z 103")
		watch(t, srv, configMaps+"?watch=1&resourceVersion=101").want("ERROR 410 Expired", "EOF")
		watch(t, srv, configMaps+"?watch=1&resourceVersion=102").want("ADDED z 103")
		for rv, want := range map[string]int{"101": 410, "102": 200} {
			if code, body := get(t, srv, configMaps+"?resourceVersionMatch=Exact&resourceVersion="+rv); code != want {
				t.Errorf("exact list at %s: %d %s", rv, code, body)
			}
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	story(t, apitest.Options{History: 2}, func(t *testing.T, srv *apitest.Server) {
		watch(t, srv, configMaps+"?watch=1&resourceVersion=100").want("ERROR 410 Expired", "EOF")
		watch(t, srv, configMaps+"?watch=1&resourceVersion=101").want("ADDED y 102", "ADDED z 103")
	})
}

func TestBookmarkOnDemand(t *testing.T) {
	story(t, apitest.Options{BookmarkInterval: -1}, func(t *testing.T, srv *apitest.Server) {
		quiet := watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103&allowWatchBookmarks=1")
		srv.Tick()
		srv.Bookmark()
		w.want("BOOKMARK 104")
		srv.CloseWatches()
		w.want("EOF")
		quiet.want("EOF")
	})
}

func TestTableOfPods(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c"},{"name":"d"}]},
			"status":{"phase":"Running","podIP":"10.0.0.1","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}}},{"ready":true,"restartCount":1}]}}`) // the second one does not run
		time.Sleep(3*time.Hour + 5*time.Minute)
		_, body := get(t, srv, "/api/v1/namespaces/a/pods?includeObject=None", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if !strings.HasSuffix(body, `"rows":[{"cells":["p","1/2","Running","3","3h5m","10.0.0.1","n1","\u003cnone\u003e","\u003cnone\u003e"],"object":null}]}`+"\n") {
			t.Errorf("table: %s", body)
		}
	})
}

func TestTableOfNodesAndDeployments(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.Put(kube.Nodes, `{"metadata":{"name":"n","labels":{"node-role.kubernetes.io/control-plane":""}},"spec":{"unschedulable":true},
			"status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1.37.0"}}}`)
		srv.Put(kube.Deployments, `{"metadata":{"namespace":"a","name":"d"},"spec":{"replicas":3},"status":{"readyReplicas":2,"updatedReplicas":3,"availableReplicas":2}}`)
		for path, want := range map[string]string{
			"/api/v1/nodes": `["n","Ready,SchedulingDisabled","control-plane","0s","v1.37.0","\u003cnone\u003e","\u003cnone\u003e","\u003cunknown\u003e","\u003cunknown\u003e","\u003cunknown\u003e"]`,
			"/apis/apps/v1/namespaces/a/deployments/d": `["d","2/3",3,2,"0s","","",""]`,
		} {
			_, body := get(t, srv, path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
			if !strings.Contains(body, `"cells":`+want) {
				t.Errorf("%s: want %s in %s", path, want, body)
			}
		}
	})
}

func TestCustomResourcesAreSortedAndNeedARevision(t *testing.T) {
	foo := kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
	info := apitest.ResourceInfo{Resource: foo, ShortNames: []string{"fo"}, Columns: []apitest.Column{{Name: "Size", Type: "integer", Path: "spec.size"}}}
	story(t, apitest.Options{Resources: []apitest.ResourceInfo{info}, NoManagedFields: true}, func(t *testing.T, srv *apitest.Server) {
		_, body := do(t, srv, "POST", foo.Path("a"), `{"apiVersion":"example.com/v1","kind":"Foo","spec":{"size":3},"metadata":{"name":"f"},"data":1}`)
		uid := field(t, body, "metadata", "uid")
		want := `{"apiVersion":"example.com/v1","data":1,"kind":"Foo","metadata":{"creationTimestamp":"2000-01-01T00:00:00Z","generation":1,"name":"f","namespace":"a","resourceVersion":"104","uid":"` + uid + `"},"spec":{"size":3}}`
		if diff := cmp.Diff(want+"\n", body); diff != "" {
			t.Error(diff)
		}
		_, body = get(t, srv, foo.Path(""))
		if diff := cmp.Diff(`{"apiVersion":"example.com/v1","items":[`+want+`],"kind":"FooList","metadata":{"continue":"","resourceVersion":"104"}}`+"\n", body); diff != "" {
			t.Error(diff)
		}
		if code, body := do(t, srv, "PUT", foo.Path("a")+"/f", `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"f"}}`); code != 422 || !strings.Contains(body, "metadata.resourceVersion: Invalid value: 0: must be specified for an update") {
			t.Errorf("update without a revision: %d %s", code, body)
		}
		if _, body := get(t, srv, foo.Path("a"), "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"); !strings.Contains(body, `"cells":["f",3,"0s"]`) {
			t.Errorf("table: %s", body)
		}
	})
}

func TestJournalKeepsWhatClientsSent(t *testing.T) {
	story(t, apitest.Options{Token: "secret"}, func(t *testing.T, srv *apitest.Server) {
		get(t, srv, configMaps+"/none", "User-Agent", "me")
		watch(t, srv, configMaps+"?watch=1&resourceVersion=101&timeoutSeconds=1").want("ADDED y 102", "ADDED z 103", "EOF")
		if err := srv.WaitForWatches(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range srv.Requests() {
			if strings.Contains(fmt.Sprint(r.Header), "secret") || !r.Authorised {
				t.Errorf("request %+v", r)
			}
			got = append(got, fmt.Sprintf("%s %s %s %s %d %d events %v", r.Verb, r.Resource, r.Key, r.Query.Get("resourceVersion"), r.Code, r.Events, r.End.Sub(r.Start)))
		}
		if diff := cmp.Diff([]string{"get configmaps.v1 a/none  404 0 events 0s", "watch configmaps.v1 a/ 101 200 2 events 1s"}, got); diff != "" {
			t.Error(diff)
		}
		srv.ForgetRequests()
		if n := len(srv.Requests()); n != 0 {
			t.Errorf("%d requests left", n)
		}
	})
}

func TestTokensAreChecked(t *testing.T) {
	story(t, apitest.Options{Token: "one"}, func(t *testing.T, srv *apitest.Server) {
		codes := func() (codes []int) {
			for _, h := range []string{"", "Bearer one", "Bearer two", "Basic x"} {
				code, _ := get(t, srv, configMaps, "Authorization", h)
				codes = append(codes, code)
			}
			return codes
		}
		if diff := cmp.Diff([]int{200, 200, 401, 401}, codes()); diff != "" { // "" is filled in by Client
			t.Error(diff)
		}
		srv.SetToken("two")
		if diff := cmp.Diff([]int{200, 401, 200, 401}, codes()); diff != "" {
			t.Error(diff)
		}
		if code, body := get(t, srv, "/readyz", "Authorization", "Bearer no"); code != 200 || body != "ok" {
			t.Errorf("readyz: %d %s", code, body)
		}
	})
}

func TestClientCertificatesAreChecked(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{ClientCerts: true})
	if code, _ := get(t, srv, configMaps); code != 200 {
		t.Errorf("with the server's client: %d", code)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(srv.CAPEM()) {
		t.Fatal("no CA")
	}
	cert, key := srv.ClientCertPEM()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for want, certs := range map[int][]tls.Certificate{401: nil, 200: {pair}} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(srv.URL + configMaps)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || resp.ProtoMajor != 2 {
			t.Errorf("%d certificates: %d over %s", len(certs), resp.StatusCode, resp.Proto)
		}
	}
}

func TestMisuseIsReported(t *testing.T) {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for name, f := range map[string]func(){
		"no JSON":          func() { srv.Put(kube.Pods, "{") },
		"no name":          func() { srv.Put(kube.Pods, "{}") },
		"another kind":     func() { srv.Put(kube.Pods, `{"kind":"Node","metadata":{"name":"x"}}`) },
		"unknown resource": func() { srv.Put(kube.Resource{Version: "v1", Plural: "nones"}, `{"metadata":{"name":"x"}}`) },
		"served already":   func() { srv.AddResource(apitest.ResourceInfo{Resource: kube.Pods}) },
		"future":           func() { srv.RestoreTo("900") },
		"no revision":      func() { srv.Compact("x") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "apitest: ") {
					t.Errorf("recovered %v", r)
				}
			}()
			f()
		})
	}
}
