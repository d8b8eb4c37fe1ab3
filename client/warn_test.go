package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

// TestWarningIsReportedOnce a text and client, with answers of every kind.
func TestWarningIsReportedOnce(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "everywhere"`)
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", r.URL.Path))
		if r.URL.Path == "/denied" {
			w.WriteHeader(http.StatusForbidden)
		}
	})
	var got []string
	c := newClient(t, client.Config{Server: url, Warn: func(s string) { got = append(got, s) }})
	for _, path := range []string{"/a", "/a", "/denied", "/b"} {
		for _, cl := range []*client.Client{c, c.Isolated()} {
			_, _ = do(t.Context(), cl, &client.Request{Path: path, Watch: path == "/b"})
			cl.CloseIdleConnections()
		}
	}
	if diff := cmp.Diff([]string{"everywhere", "/a", "/denied", "/b"}, got); diff != "" {
		t.Errorf("got (-want +got):\n%s", diff)
	}
	if _, err := do(t.Context(), newClient(t, client.Config{Server: url}), &client.Request{Path: "/a"}); err != nil {
		t.Error(err) // nobody wants to hear it
	}
}

// TestWarningsThatAreRememberedAreLimited: a server that warns of each object by its
// name fills no memory; it is reported twice in the end.
func TestWarningsThatAreRememberedAreLimited(t *testing.T) {
	n := 0
	url := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", fmt.Sprintf(`299 - "%d"`, n))
		n++
	})
	reported := 0
	c := newClient(t, client.Config{Server: url, Warn: func(string) { reported++ }})
	ask := func(times int) {
		for range times {
			if _, err := do(t.Context(), c, &client.Request{Path: "/"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(256)
	n = 0
	ask(1)
	if reported != 256 {
		t.Errorf("reported %d times, want 256", reported)
	}
	n = 256
	ask(1) // one too many
	n = 0
	ask(1)
	if reported != 258 {
		t.Errorf("reported %d times, want 258: the first again", reported)
	}
}
