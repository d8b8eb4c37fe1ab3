package client_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// doorman lets in one token and writes down who came.
type doorman struct {
	token string

	mu   sync.Mutex
	seen []string // Authorization and body of each request
}

func (d *doorman) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	d.seen = append(d.seen, strings.TrimSpace(r.Header.Get("Authorization")+" "+string(body)))
	d.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer "+d.token {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"}`)
		return
	}
	_, _ = io.WriteString(w, `{}`)
}

func (d *doorman) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func writeToken(t *testing.T, path, token string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestToken(t *testing.T) {
	d := &doorman{token: "good"}
	url := newServer(t, d.serve)
	if _, err := do(t.Context(), newClient(t, client.Config{Server: url, Token: "good", Username: "u", Password: "p"}), &client.Request{Path: "/"}); err != nil {
		t.Error(err)
	}
	_, err := do(t.Context(), newClient(t, client.Config{Server: url, Token: "bad"}), &client.Request{Path: "/"})
	if !errors.Is(err, kube.ErrUnauthorized) {
		t.Errorf("a bad token: %v", err)
	}
	d.check(t, "Bearer good", "Bearer bad") // a token that cannot change is not tried again
}

func TestTokenFileIsReadAgainOnceAfter401(t *testing.T) {
	for _, tt := range []struct {
		name, rotated, want string
		seen                []string
	}{
		{"rotated", "good", "", []string{"Bearer old {1}", "Bearer good {1}"}},
		{"not rotated", "old", "unauthorized", []string{"Bearer old {1}"}},
		{"rotated to a bad one", "bad", "unauthorized", []string{"Bearer old {1}", "Bearer bad {1}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &doorman{token: "good"}
			path := filepath.Join(t.TempDir(), "token")
			writeToken(t, path, "old")
			c := newClient(t, client.Config{Server: newServer(t, d.serve), TokenFile: path, Token: "never used"})
			writeToken(t, path, tt.rotated)

			_, err := do(t.Context(), c, &client.Request{Method: http.MethodPost, Path: "/", Body: []byte("{1}")})
			if want := tt.want != ""; errors.Is(err, kube.ErrUnauthorized) != want || (err != nil) != want {
				t.Errorf("Do: %v, want %q", err, tt.want)
			}
			d.check(t, tt.seen...)
		})
	}
}

func TestTokenFileIsReadAgainEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &doorman{}
		path := filepath.Join(t.TempDir(), "token")
		writeToken(t, path, "one")
		c := newMemoryClient(t, client.Config{TokenFile: path}, func(w http.ResponseWriter, r *http.Request) {
			d.token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			d.serve(w, r)
		})
		ask := func() {
			t.Helper()
			if _, err := do(t.Context(), c, &client.Request{Path: "/"}); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		writeToken(t, path, "two")
		pass(59 * time.Second)
		ask() // still the first
		pass(time.Second)
		ask() // the second
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		ask() // a file that is being replaced: the second is the best guess
		d.check(t, "Bearer one", "Bearer one", "Bearer two", "Bearer two")
	})
}

// TestTokenFileThatIsHalfWrittenLeavesTheOldInUse: a header cannot have its token.
func TestTokenFileThatIsHalfWrittenLeavesTheOldInUse(t *testing.T) {
	for _, half := range []string{"", "two\x00\x00\x00", "\x01", "t\two", "two\x7f", "tw\u00f6", "t\nwo"} {
		synctest.Test(t, func(t *testing.T) {
			d := &doorman{token: "one"}
			path := filepath.Join(t.TempDir(), "token")
			writeToken(t, path, "one")
			c := newMemoryClient(t, client.Config{TokenFile: path}, d.serve)
			writeToken(t, path, half)
			pass(time.Minute)
			if _, err := do(t.Context(), c, &client.Request{Path: "/"}); err != nil {
				t.Errorf("with %q: %v", half, err)
			}
			d.check(t, "Bearer one")
		})
	}
}

func TestBasicAuth(t *testing.T) {
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != "u" || p != "p:p" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	if _, err := do(t.Context(), newClient(t, client.Config{Server: url, Username: "u", Password: "p:p"}), &client.Request{Path: "/"}); err != nil {
		t.Error(err)
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	url := newServer(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	cfg := client.Config{
		Server: url,
		Impersonate: client.Impersonate{
			User: "jane", UID: "u-1", Groups: []string{"a", "b"},
			Extra: map[string][]string{"example.com/scopes": {"x", "y"}, "a b%é": {"z"}},
		},
	}
	req := &client.Request{Method: http.MethodPut, Path: "/", Accept: "application/json;as=Table", Body: []byte("{}"), ContentType: "application/x"}
	if _, err := do(t.Context(), newClient(t, cfg), req); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Accept":            {"application/json;as=Table"},
		"Content-Length":    {"2"},
		"Content-Type":      {"application/x"},
		"Impersonate-Group": {"a", "b"},
		"Impersonate-Uid":   {"u-1"},
		"Impersonate-User":  {"jane"},
		"User-Agent":        {"listwatch"},

		"Impersonate-Extra-Example.com%2fscopes": {"x", "y"},
		"Impersonate-Extra-A%20b%25%c3%a9":       {"z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}

	if _, err := do(t.Context(), newClient(t, client.Config{Server: url, UserAgent: "me/1"}), &client.Request{Path: "/"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(http.Header{"Accept": {"application/json"}, "User-Agent": {"me/1"}}, got); diff != "" {
		t.Errorf("default headers (-want +got):\n%s", diff)
	}
}
