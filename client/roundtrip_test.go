package client_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

// turns is a Source whose first credential is refused.
type turns struct{ asked int }

func (s *turns) Credential(_ context.Context, refused *client.Credential) (*client.Credential, error) {
	if s.asked++; refused != nil {
		return &client.Credential{Token: "good"}, nil
	}
	return &client.Credential{Token: "bad"}, nil
}

// TestRoundTripperIsTheClient: it replaces what a request says of who asks, goes to the
// client's server only, and takes another credential after a 401.
func TestRoundTripperIsTheClient(t *testing.T) {
	d := &doorman{token: "good"}
	server := newServer(t, d.serve)
	rt := newClient(t, client.Config{Server: server, Credentials: &turns{}}).RoundTripper()
	for _, test := range []struct {
		url, body string
		code      int
		seen      []string
	}{
		{server + "/a", "", 200, []string{"Bearer bad", "Bearer good"}},
		{server + "/a", "x", 401, []string{"Bearer bad x"}}, // a body cannot be sent twice
		{"http://127.0.0.1:1/a", "", 0, nil},
		{strings.Replace(server, "http", "https", 1), "", 0, nil},
	} {
		var body io.Reader
		if test.body != "" {
			body = io.NopCloser(strings.NewReader(test.body))
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", test.url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer stranger")
		req.Header.Set("Impersonate-User", "admin")
		code := 0
		if resp, err := rt.RoundTrip(req); err == nil {
			code = resp.StatusCode
			resp.Body.Close()
		}
		d.mu.Lock()
		if code != test.code || !cmp.Equal(d.seen, test.seen) {
			t.Errorf("%s %q: %d, seen %q, want %d, %q", test.url, test.body, code, d.seen, test.code, test.seen)
		}
		d.seen = nil
		d.mu.Unlock()
		if got := req.Header.Get("Authorization"); got != "Bearer stranger" {
			t.Errorf("the request was changed: %q", got)
		}
	}
}

// TestRoundTripperHidesWhatAnErrorRepeats: the client of a proxy does not see our credentials in
// headers and errors, by as many bytes; other bodies are its data.
func TestRoundTripperHidesWhatAnErrorRepeats(t *testing.T) {
	const token, cover = "a-token-of-ours", "REDACTEDREDACTE"
	code := 0
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		w.Header().Set("Warning", got)
		w.Header().Set("Content-Length", strconv.Itoa(len(got)))
		w.WriteHeader(code)
		io.WriteString(w, got)
	})
	rt := newClient(t, client.Config{Server: server, Token: token, PlainHTTP: true}).RoundTripper()
	for _, tt := range []struct {
		code int
		body string
	}{{403, "Bearer " + cover}, {500, "Bearer " + cover}, {200, "Bearer " + token}} {
		code = tt.code
		req, err := http.NewRequestWithContext(t.Context(), "GET", server+"/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if warning := resp.Header.Get("Warning"); err != nil || string(b) != tt.body || warning != "Bearer "+cover {
			t.Errorf("%d: %q, warning %q, %v, want %q", tt.code, b, warning, err, tt.body)
		}
	}
}
