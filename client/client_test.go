package client_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

func TestRequestLine(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Method+" "+r.RequestURI) })
	for _, tt := range []struct {
		prefix string
		req    client.Request
		want   string
	}{
		{"", client.Request{Path: "/api/v1/pods"}, "GET /api/v1/pods"},
		{"/", client.Request{Path: "/api/v1/pods"}, "GET /api/v1/pods"},
		{"/k8s/c-1/", client.Request{Path: "/api", Method: http.MethodDelete}, "DELETE /k8s/c-1/api"},
		{"/a%2Fb", client.Request{Path: "/api/c%2Fd"}, "GET /a%2Fb/api/c%2Fd"},
		{"", client.Request{Path: "/x", Query: map[string][]string{"labelSelector": {"a in (b,c)"}, "limit": {"1"}}}, "GET /x?labelSelector=a+in+%28b%2Cc%29&limit=1"},
	} {
		got, err := do(t.Context(), newClient(t, client.Config{Server: url + tt.prefix}), &tt.req)
		if got != tt.want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, tt.want)
		}
	}
}

func TestBadRequestIsOneError(t *testing.T) {
	c := newClient(t, client.Config{Server: "http://127.0.0.1:1"})
	for _, req := range []client.Request{{Path: "/%zz"}, {Path: "/", Method: "G E T"}} {
		if _, err := c.Do(t.Context(), &req); err == nil || !strings.Contains(err.Error(), "bad path or method") {
			t.Errorf("Do(%q %q): %v", req.Method, req.Path, err)
		}
	}
}

func TestConnectionRefusedNamesTheServer(t *testing.T) {
	url := "http://" + closedPort(t)
	_, err := newClient(t, client.Config{Server: url}).Do(t.Context(), &client.Request{Path: "/x"})
	if err == nil || strings.Count(err.Error(), url) != 1 || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Do: %v", err)
	}
}

// TestWatchesHaveAPoolOfTheirOwn: over HTTP/2 all requests would share one
// connection.
func TestWatchesHaveAPoolOfTheirOwn(t *testing.T) {
	ca := newAuthority(t)
	url := ca.serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, r.RemoteAddr)
		if r.URL.Path == "/watch" {
			silence(w, r)
		}
	})
	c := newClient(t, client.Config{Server: url, TLS: client.TLS{CAData: ca.pem}})
	watch := func() string {
		resp, err := c.Do(t.Context(), &client.Request{Path: "/watch", Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.ProtoMajor != 2 {
			t.Errorf("the watch speaks %s", resp.Proto)
		}
		b := make([]byte, 100)
		n, err := resp.Body.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	unary := func() string {
		got, err := do(t.Context(), c, &client.Request{Path: "/"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	w1, w2, u1, u2 := watch(), watch(), unary(), unary()
	if w1 != w2 || u1 != u2 || w1 == u1 {
		t.Errorf("watches from %s and %s, requests from %s and %s; want one connection each", w1, w2, u1, u2)
	}
}

// TestPathIsNoAddress: a path without its slash would continue the host of the server, and
// the token would be sent to another one.
func TestPathIsNoAddress(t *testing.T) {
	var seen atomic.Int32
	count := func(http.ResponseWriter, *http.Request) { seen.Add(1) }
	other := newServer(t, count)
	for _, path := range []string{"@" + strings.TrimPrefix(other, "http://") + "/x", ".example.com/x", "x", "?x=1", "/x?y=1", "/x#y", "/x\ny", "/%zz"} {
		c := newClient(t, client.Config{Server: newServer(t, count), Token: "sesame"})
		_, err := do(t.Context(), c, &client.Request{Path: path, Query: map[string][]string{"limit": {"1"}}})
		if err == nil || !strings.Contains(err.Error(), "bad path or method") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want that it is a bad path", path, err)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestRedirectToAnotherHostIsNotFollowed(t *testing.T) {
	var seen atomic.Int32
	other := newServer(t, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) })
	c := newClient(t, client.Config{Server: url, Token: "sesame"})
	_, err := c.Do(t.Context(), &client.Request{Path: "/"})
	if err == nil || !strings.Contains(err.Error(), "redirect") || strings.Contains(err.Error(), "sesame") {
		t.Errorf("Do: %v", err)
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the other host saw %d requests", n)
	}
}

// TestRedirectFromTLSIsNotFollowed: the token would go to the same host in the clear.
func TestRedirectFromTLSIsNotFollowed(t *testing.T) {
	ca := newAuthority(t)
	srv := ca.serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/there", http.StatusFound)
	})
	c := newClient(t, client.Config{Server: srv, Token: "sesame", TLS: client.TLS{CAData: ca.pem}})
	_, err := do(t.Context(), c, &client.Request{Path: "/"})
	if st := (*kube.Status)(nil); !errors.As(err, &st) || st.Code != http.StatusFound {
		t.Errorf("Do: %v, want the redirect itself", err)
	}
}

// TestRedirectOfAWriteIsNotFollowed: net/http would follow it with a GET, whose success says
// nothing of the write, and a location without the query would widen a deletion.
func TestRedirectOfAWriteIsNotFollowed(t *testing.T) {
	var others atomic.Int32
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.URL.Query().Get("code"))
		if err != nil {
			others.Add(1)
			_, _ = io.WriteString(w, "{}")
			return
		}
		http.Redirect(w, r, r.URL.Path, code)
	})
	c := newClient(t, client.Config{Server: url})
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			query := map[string][]string{"code": {strconv.Itoa(code)}}
			_, err := do(t.Context(), c, &client.Request{Method: method, Path: "/x", Query: query})
			if st := (*kube.Status)(nil); !errors.As(err, &st) || st.Code != code || !strings.Contains(st.Message, "redirect of a write") {
				t.Errorf("%s with %d: %v, want the redirect itself", method, code, err)
			}
		}
	}
	if n := others.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// TestRedirectWithoutTheQueryIsNotFollowed: a list without its selector has other objects.
func TestRedirectWithoutTheQueryIsNotFollowed(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/keeps":
			http.Redirect(w, r, "/there?"+r.URL.RawQuery+"&hash=2", http.StatusMovedPermanently)
		case "/drops":
			http.Redirect(w, r, "/there", http.StatusMovedPermanently)
		default:
			_, _ = io.WriteString(w, r.URL.Query().Get("labelSelector"))
		}
	})
	c := newClient(t, client.Config{Server: url})
	query := map[string][]string{"labelSelector": {"app=x"}}
	if got, err := do(t.Context(), c, &client.Request{Path: "/keeps", Query: query}); got != "app=x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	got, err := do(t.Context(), c, &client.Request{Path: "/drops", Query: query})
	if st := (*kube.Status)(nil); !errors.As(err, &st) || st.Code != http.StatusMovedPermanently {
		t.Errorf("%q, %v; want the redirect itself", got, err)
	}
}

// TestRedirectThatIsNotFollowedNamesItsCause: the message of a refusal does not list the
// causes of others.
func TestRedirectThatIsNotFollowedNamesItsCause(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/host":
			http.Redirect(w, r, "http://other.example.com"+r.URL.RequestURI(), http.StatusFound)
		case "/scheme":
			http.Redirect(w, r, "https://"+r.Host+r.URL.RequestURI(), http.StatusFound)
		case "/query":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/nowhere":
			w.WriteHeader(http.StatusFound)
		case "/choices":
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusMultipleChoices)
		default:
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
		}
	})
	c := newClient(t, client.Config{Server: url})
	for _, x := range []struct{ method, path, want string }{
		{"GET", "/host", "a redirect to another host"},
		{"GET", "/scheme", "a redirect to another host"},
		{"GET", "/query", "a redirect with another query"},
		{"GET", "/loop", "the fourth redirect"},
		{"GET", "/nowhere", "a redirect without an address"},
		{"GET", "/choices", "a redirect with the code 300"},
		{"PUT", "/loop", "a redirect of a write"},
	} {
		_, err := do(t.Context(), c, &client.Request{Method: x.method, Path: x.path, Query: map[string][]string{"limit": {"5"}}})
		st := (*kube.Status)(nil)
		if !errors.As(err, &st) || !strings.HasPrefix(st.Message, x.want) {
			t.Errorf("%s %s: %v, want %s", x.method, x.path, err, x.want)
		}
	}
}

func TestRedirectWithinTheHostKeepsTheToken(t *testing.T) {
	var roundTrips atomic.Int64
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/loop":
			roundTrips.Add(1)
			http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		default:
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}
	})
	c := newClient(t, client.Config{Server: url, Token: "sesame"})
	if got, err := do(t.Context(), c, &client.Request{Path: "/"}); got != "Bearer sesame" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := do(t.Context(), c, &client.Request{Path: "/loop"}); err == nil || roundTrips.Load() != 4 {
		t.Errorf("a redirect without end: %v after %d requests, want 4", err, roundTrips.Load())
	}
}

func TestCompression(t *testing.T) {
	var asked string
	h := func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Accept-Encoding")
		if asked != "gzip" {
			say(w, "event")
			silence(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = zip.Write([]byte("event"))
		_ = zip.Flush()
		say(w, "")
		silence(w, r)
	}
	url := newServer(t, h)
	secure := httptest.NewTLSServer(http.HandlerFunc(h))
	defer secure.Close()
	addr := strings.TrimPrefix(url, "http://")
	far := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	var got []string
	for _, cfg := range []client.Config{
		{Server: url},
		{Server: url, Compression: "gzip"},
		{Server: "http://far.test", Dial: far},
		{Server: "http://far.test", Dial: far, Compression: "none"},
		{Server: "http://localhost", Dial: far},
		{Server: secure.URL, TLS: client.TLS{Insecure: true}},
	} {
		resp, err := newClient(t, cfg).Do(t.Context(), &client.Request{Path: "/", Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5) // an event arrives while the stream goes on
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "event" {
			t.Errorf("%v: %q, %v", cfg, b, err)
		}
		resp.Body.Close()
		got = append(got, asked)
	}
	if diff := cmp.Diff([]string{"", "gzip", "gzip", "", "", "gzip"}, got); diff != "" {
		t.Errorf("Accept-Encoding (-want +got):\n%s", diff)
	}
}

// TestWrapSeesEveryRequest: of both pools.
func TestWrapSeesEveryRequest(t *testing.T) {
	url := newServer(t, func(http.ResponseWriter, *http.Request) {})
	var seen atomic.Int32
	c := newClient(t, client.Config{Server: url, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			seen.Add(1)
			return next.RoundTrip(r)
		})
	}})
	for _, watch := range []bool{false, true} {
		if _, err := do(t.Context(), c, &client.Request{Path: "/x", Watch: watch}); err != nil {
			t.Fatal(err)
		}
	}
	c.CloseIdleConnections()
	if n := seen.Load(); n != 2 {
		t.Errorf("%d requests were seen, want 2", n)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
