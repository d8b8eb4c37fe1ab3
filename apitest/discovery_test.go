package apitest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// request returns the answer itself, a redirection too; its body is closed.
func request(t *testing.T, srv *apitest.Server, method, path, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := srv.Client().Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// TestDiscoveryIsCached: a client that has an answer already gets 304, until the
// answer is another.
func TestDiscoveryIsCached(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		ask := func(tag string) *http.Response {
			return request(t, srv, http.MethodGet, "/apis", "", "Accept", aggregated, "If-None-Match", tag)
		}
		first := ask("")
		tag := first.Header.Get("Etag")
		if first.StatusCode != 200 || len(tag) != 130 || first.Header.Get("Cache-Control") != "public" || first.Header.Get("Vary") != "Accept" {
			t.Errorf("first answer: %d %v", first.StatusCode, first.Header)
		}
		if again := ask(tag); again.StatusCode != http.StatusNotModified || again.Header.Get("Etag") != tag {
			t.Errorf("again: %d %v", again.StatusCode, again.Header)
		}
		srv.AddResource(apitest.ResourceInfo{Resource: kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo"}})
		if later := ask(tag); later.StatusCode != 200 || later.Header.Get("Etag") == tag {
			t.Errorf("after a resource came: %d %v", later.StatusCode, later.Header)
		}
	})
}

// TestOpenAPIIsCached: who names the hash may keep a document for good; who names
// another is sent to it.
func TestOpenAPIIsCached(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		const path = "/openapi/v3/apis/apps/v1"
		plain := request(t, srv, http.MethodGet, path, "")
		hash := strings.Trim(plain.Header.Get("Etag"), `"`)
		if plain.StatusCode != 200 || hash == "" || plain.Header.Get("Cache-Control") != "no-cache, private" {
			t.Fatalf("%d %v", plain.StatusCode, plain.Header)
		}
		if r := request(t, srv, http.MethodGet, path+"?hash="+hash, ""); r.StatusCode != 200 || r.Header.Get("Cache-Control") != "public, immutable" || r.Header.Get("Expires") == "" {
			t.Errorf("with the hash: %d %v", r.StatusCode, r.Header)
		}
		if r := request(t, srv, http.MethodGet, path+"?hash=0", ""); r.StatusCode != http.StatusMovedPermanently || r.Header.Get("Location") != path+"?hash="+hash {
			t.Errorf("with another: %d %v", r.StatusCode, r.Header)
		}
		if r := request(t, srv, http.MethodGet, path, "", "If-None-Match", `"`+hash+`"`); r.StatusCode != http.StatusNotModified {
			t.Errorf("with the ETag: %d", r.StatusCode)
		}
	})
}

// TestDiscoveryRefuses what is no GET and what it has no form for.
func TestDiscoveryRefuses(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for _, c := range []struct {
			method, path, accept string
			code                 int
		}{
			{"POST", "/api", "", 405}, {"HEAD", "/apis/apps/v1", "", 405}, {"DELETE", "/version", "", 405}, {"POST", "/apis", "", 200}, {"PATCH", "/apis/apps", "", 200},
			{"GET", "/apis", "text/html", 406}, {"GET", "/apis/apps/v1", "text/html", 406}, {"GET", "/apis/apps", "text/html,*/*", 200},
			{"GET", "/apis", "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList", 406},
			{"GET", "/apis", "application/vnd.kubernetes.protobuf", 200}, {"POST", "/openapi/v3", "", 200}, {"GET", "/openapi/v3/none", "", 404},
			{"GET", "/openapi/v2", "", 200}, {"GET", "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200}, {"GET", "/openapi/v2", "application/yaml", 406},
			{"GET", "/healthz/ping", "", 200}, {"GET", "/healthz/none", "", 404}, {"GET", "/apis/apps/v9", "", 404}, {"GET", "/", "", 200},
		} {
			if r := request(t, srv, c.method, c.path, "", "Accept", c.accept); r.StatusCode != c.code {
				t.Errorf("%s %s %q: %d, want %d", c.method, c.path, c.accept, r.StatusCode, c.code)
			}
		}
	})
}

// TestAnswersForPeopleAreIndented: those to curl, those that ask for it, and errors
// for who agrees to no form that an error has.
func TestAnswersForPeopleAreIndented(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
		for _, c := range []struct {
			path, agent, accept string
			indented            bool
		}{
			{"/api/v1/pods", "curl/8.0", "*/*", true}, {"/api/v1/pods", "me", "", false}, {"/api/v1/pods?pretty=true", "me", "", true},
			{"/api/v1/pods?pretty=0", "curl/8.0", "", false}, {"/api/v1/pods?pretty=x", "me", "", false},
			{"/api/v1/nodes/none", "me", table, true}, {"/api/v1/nodes/none", "me", table + ",application/json", false},
			{"/api/v1/pods", "me", table, false}, {"/api/v1/nodes/none", "me", "text/html", true},
			{"/api/v1/pods?watch=1&sendInitialEvents=true", "curl/8.0", "", true}, // an error
		} {
			_, body := do(t, srv, http.MethodGet, c.path, "", "User-Agent", c.agent, "Accept", c.accept)
			if got := strings.HasPrefix(body, "{\n  \"kind\""); got != c.indented {
				t.Errorf("%s by %s as %q: indented is %v\n%s", c.path, c.agent, c.accept, got, body)
			}
		}
	})
}

// TestEarlyWatches: the paths that watches had before v1.11 still work.
func TestEarlyWatches(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for _, name := range []string{"x", "y"} {
			do(t, srv, http.MethodPost, "/api/v1/namespaces/a/secrets", `{"metadata":{"name":"`+name+`"}}`)
		}
		for path, want := range map[string]int{"/api/v1/watch/secrets": 2, "/api/v1/watch/namespaces/a/secrets": 2,
			"/api/v1/watch/namespaces/a/secrets/x": 1, "/api/v1/watch/namespaces/b/secrets": 0} {
			code, body := do(t, srv, http.MethodGet, path+"?timeoutSeconds=1", "")
			if got := strings.Count(body, `"type":"ADDED"`); code != 200 || got != want {
				t.Errorf("%s: %d, %d objects, want %d", path, code, got, want)
			}
		}
	})
}

// TestAcceptGoesByItsWeights: q counts before the order, and what is said exactly
// before what is said vaguely.
func TestAcceptGoesByItsWeights(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for accept, want := range map[string]string{
			"application/json;q=0.5,application/yaml;q=0.9": "application/yaml", "application/json,application/yaml": "application/json",
			"*/*,application/yaml": "application/yaml", "text/html,application/*": "",
		} {
			r := request(t, srv, http.MethodGet, "/api/v1/pods", "", "Accept", accept)
			if got := r.Header.Get("Content-Type"); want == "" && r.StatusCode != 406 || want != "" && got != want {
				t.Errorf("%s: %d %s", accept, r.StatusCode, got)
			}
		}
	})
}

// TestNamesThatCannotBe are refused before anybody looks for them.
func TestNamesThatCannotBe(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for path, want := range map[string]string{
			"/api/v1/namespaces/a/configmaps/a%252Fb": `Name parameter invalid: \"a%2Fb\": may not contain '%'`,
			"/api/v1/namespaces/a/configmaps/..":      `Name parameter invalid: \"..\": may not be '..'`,
			"/api/v1/namespaces/a/configmaps/a%2Fb":   "the server could not find the requested resource",
			"/api/v1/configmaps/x":                    "the server could not find the requested resource",
			"/api/v1//configmaps":                     "the server could not find the requested resource",
		} {
			if _, body := do(t, srv, http.MethodGet, path, ""); !strings.Contains(body, want) {
				t.Errorf("%s: %s", path, body)
			}
		}
	})
}
