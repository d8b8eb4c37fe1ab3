package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

const (
	audit = "4d2b7a0c-6f5e-4a38-9f39-2c1e8b7d0a11"
	flow  = "11111111-6f5e-4a38-9f39-2c1e8b7d0a11"
	level = "22222222-6f5e-4a38-9f39-2c1e8b7d0a11"
)

// identify sets what a server says of a request.
func identify(h http.Header) {
	h.Set("Audit-Id", audit)
	h.Set("X-Kubernetes-PF-FlowSchema-UID", flow)
	h.Set("X-Kubernetes-PF-PriorityLevel-UID", level)
}

func TestTraceReportsEachRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		g.refuse("nobody Bearer old")
		g.serve = func(w http.ResponseWriter, r *http.Request) {
			pass(3 * time.Second)
			identify(w.Header())
			if r.URL.Path == "/silent" {
				silence(w, r)
			}
			if r.URL.Path == "/watch" {
				say(w, "{}")
				pass(time.Minute) // which is not counted
			}
		}
		m.put(map[string][]byte{"token": []byte("old")})
		var started, done []client.RoundTrip
		c := g.client(client.Config{
			TLS: client.TLS{CAData: ca.pem}, TokenFile: m.path("token"), QPS: 0.125, Burst: 1, Timeout: 5 * time.Second,
			Trace: &client.Trace{
				Start: func(r client.RoundTrip) { started = append(started, r) },
				Done:  func(r client.RoundTrip) { done = append(done, r) },
			},
		})
		m.put(map[string][]byte{"token": []byte("new")})
		req := &client.Request{Path: "/list", Query: map[string][]string{"labelSelector": {"a=b"}}}
		for _, r := range []*client.Request{req, {Method: http.MethodPut, Path: "/write"}, {Path: "/silent"}, {Path: "/watch", Watch: true, Idle: time.Hour}} {
			_, err := do(t.Context(), c, r)
			if r.Path == "/silent" != errors.Is(err, client.ErrIdle) {
				t.Errorf("%s: %v", r.Path, err)
			}
		}
		const h2 = "HTTP/2.0"
		want := []client.RoundTrip{
			{Method: "GET", Path: "/list", Code: 401, Proto: h2},
			{Method: "GET", Path: "/list", Again: true, Duration: 3 * time.Second, Code: 200, Proto: h2, Reused: true, AuditID: audit, FlowSchema: flow, PriorityLevel: level},
			{Method: "PUT", Path: "/write", Wait: 5 * time.Second, Duration: 3 * time.Second, Code: 200, Proto: h2, Reused: true, AuditID: audit, FlowSchema: flow, PriorityLevel: level},
			{Method: "GET", Path: "/silent", Wait: 5 * time.Second, Duration: 5 * time.Second, Err: client.ErrIdle},
			{Method: "GET", Path: "/watch", Watch: true, Duration: 3 * time.Second, Code: 200, Proto: h2, AuditID: audit, FlowSchema: flow, PriorityLevel: level},
		}
		noID := cmpopts.IgnoreFields(client.RoundTrip{}, "ID")
		if diff := cmp.Diff(want, done, noID, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("done (-want +got):\n%s", diff)
		}
		for i, r := range want {
			want[i] = client.RoundTrip{Method: r.Method, Path: r.Path, Watch: r.Watch, Again: r.Again, Wait: r.Wait}
		}
		if diff := cmp.Diff(want, started, noID); diff != "" {
			t.Errorf("started (-want +got):\n%s", diff)
		}
		ids := make(map[uint64]bool)
		for i := range min(len(started), len(done)) {
			if ids[done[i].ID] = true; started[i].ID != done[i].ID {
				t.Errorf("round %d: %d and %d", i, started[i].ID, done[i].ID)
			}
		}
		if len(ids) != len(want) {
			t.Errorf("%d identifiers for %d roundTrips", len(ids), len(want))
		}
	})
}

func TestTraceReportsWhyConnectionsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g, m := newGate(t, ca), newMount(t)
		g.serve = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/silent" {
				silence(w, r)
			}
		}
		var got []string
		m.identity(ca, "one", ca)
		c := g.client(client.Config{TLS: m.tls(), MaxConnAge: time.Hour, Trace: &client.Trace{
			Redial:  func(why client.Reason) { got = append(got, string(why)) },
			Rotated: func(err error) { got = append(got, "another identity") },
		}})
		get(t, c)
		_, _ = do(t.Context(), c, &client.Request{Path: "/silent"})
		m.identity(ca, "two", ca)
		get(t, c)
		pass(72 * time.Minute)
		get(t, c)
		if diff := cmp.Diff([]string{"silent", "another identity", "rotated", "aged"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestTraceMayHaveHolesAndSeeNoSecrets: every hook is optional.
func TestTraceMayHaveHoles(t *testing.T) {
	url := newServer(t, func(http.ResponseWriter, *http.Request) {})
	n := 0
	for _, tr := range []*client.Trace{nil, {}, {Start: func(client.RoundTrip) { n++ }}, {Done: func(client.RoundTrip) { n++ }}} {
		if _, err := do(t.Context(), newClient(t, client.Config{Server: url, Trace: tr}), &client.Request{Path: "/"}); err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("%d hooks were called, want 2", n)
	}
}

func TestErrorsNameTheRequestToTheServersLogs(t *testing.T) {
	for _, tt := range []struct {
		code  int
		audit string
		id    string // in the Status
		want  string
	}{
		{403, audit, audit, "server: forbidden (403)"},
		{429, audit, audit, "server: too many requests (429) (flow schema " + flow + ", priority level " + level + ")"},
		{500, audit, audit, "server: internal server error (500)"},
		{503, "", "", "server: service unavailable (503)"},
		{503, strings.Repeat("x", 65), "", "server: service unavailable (503)"},
		{503, "a b", "", "server: service unavailable (503)"},
		{503, "é", "", "server: service unavailable (503)"},
	} {
		url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			identify(w.Header())
			w.Header().Set("Audit-Id", tt.audit)
			w.WriteHeader(tt.code)
			_, _ = io.WriteString(w, "x")
		})
		_, err := newClient(t, client.Config{Server: url}).Do(t.Context(), &client.Request{Path: "/x"})
		var st *kube.Status
		if !errors.As(err, &st) || st.AuditID != tt.id || err.Error() != "GET "+url+"/x: "+tt.want {
			t.Errorf("%d %q: %v", tt.code, tt.audit, err)
		}
	}
}
