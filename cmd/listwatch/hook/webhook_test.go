package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// object returns the event of a pod, with all that a hook is given.
func object(name string) Event {
	e := event(3, "MODIFIED", name, "u-1")
	e.Namespace, e.Kind, e.APIVersion, e.RV, e.Label = "shop", "Pod", "v1", "8812", "pod/"+name
	e.Record = func(e Event) ([]byte, error) { return []byte(`{"name":"` + e.Name + "\"}\n"), nil }
	return e
}

// receiver returns a server, and an address of it with credentials.
func receiver(t *testing.T, h http.HandlerFunc) (address string) {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return strings.Replace(srv.URL, "http://", "http://user:hush@", 1) + "/hush?token=hush"
}

// posted posts events once to address.
func posted(t *testing.T, ctx context.Context, address string, o Options, events ...Event) error {
	t.Helper()
	w, err := NewWebhook(address, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.CloseIdleConnections)
	o.Webhook = w
	return New(o).run(ctx, events)
}

func TestWebhookPostsEvents(t *testing.T) {
	var mu sync.Mutex
	var got []string
	address := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Method, r.RequestURI, r.Header.Get("Content-Type"), user+":"+password, string(body))
		w.WriteHeader(http.StatusAccepted)
	})
	if err := errors.Join(posted(t, t.Context(), address, Options{}, object("a")), posted(t, t.Context(), address, Options{Batch: 9}, object("a"), object("b"))); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"POST", "/hush?token=hush", "application/cloudevents+json; charset=utf-8", "user:hush", `{"name":"a"}`,
		"POST", "/hush?token=hush", "application/cloudevents-batch+json; charset=utf-8", "user:hush", `[{"name":"a"},{"name":"b"}]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWebhookFails: whatever a receiver does is an error without our credentials, which is
// tried again, or no error; and it ends.
func TestWebhookFails(t *testing.T) {
	hijacked := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(c, answer, r.Header.Get("Authorization"))
			c.Close()
		}
	}
	elsewhere := receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string // behind the host
	}{
		"an error": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.RequestURI, http.StatusServiceUnavailable)
		}, " responds 503 Service Unavailable"},
		"refused": {func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.RequestURI, http.StatusForbidden) }, " responds 403 Forbidden"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}, " responds 307 Temporary Redirect: redirects are not followed"},
		"no answer":     {hijacked("%.0s"), " closes the connection without an answer"},
		"no HTTP":       {hijacked("220 %s\r\n\r\n"), " sends no valid HTTP response"},
		"no status":     {hijacked("HTTP/1.1 %s\r\n\r\n"), " sends no valid HTTP response"},
		"a large head":  {hijacked("HTTP/1.1 200 OK\r\nX-Echo: %s" + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n"), " sends no valid HTTP response"},
		"a large body":  {func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 10*maxResponse)) }, ""},
		"a reason echo": {hijacked("HTTP/1.1 500 %s\r\n\r\n"), " responds 500 Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			err := posted(t, t.Context(), receiver(t, test.answer), Options{}, object("a"))
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var never permanent
			if err == nil || !strings.HasPrefix(err.Error(), "127.0.0.1:") || !strings.HasSuffix(err.Error(), test.want) || errors.As(err, &never) {
				t.Errorf("got %v, want HOST%s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("credentials in %v", err)
			}
		})
	}
}

// TestWebhookEndsWhileTheReceiverWaits: by its timeout, and at a stop.
func TestWebhookEndsWhileTheReceiverWaits(t *testing.T) {
	silent := func(begun chan<- struct{}) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			close(begun)
			<-r.Context().Done()
		}
	}
	err := posted(t, t.Context(), receiver(t, silent(make(chan struct{}))), Options{Timeout: 50 * time.Millisecond}, object("a"))
	if err == nil || !strings.HasSuffix(err.Error(), " did not answer within 50ms") {
		t.Error(err)
	}
	for _, cause := range []error{errStopped, errNow} {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := make(chan struct{})
		address := receiver(t, silent(begun))
		go func() {
			<-begun
			cancel(cause)
		}()
		if err := posted(t, ctx, address, Options{}, object("a")); err != cause {
			t.Errorf("%v, want %v", err, cause)
		}
	}
}

func TestNewWebhook(t *testing.T) {
	for address, want := range map[string]string{
		"https://user:hush@example.com/x": "",
		"http://127.0.0.1:80":             "",
		"http://[::1]:80":                 "",
		"http://localhost":                "",
		"http://user:hush@example.com":    "over http everybody in between can read the objects: use https, or allow it by --webhook-allow-http",
		"ftp://user:hush@example.com":     "want an https URL, such as https://example.com/events",
		"https://user:hush@%zz":           "want an https URL, such as https://example.com/events",
		"":                                "want an https URL, such as https://example.com/events",
	} {
		got := ""
		if _, err := NewWebhook(address, false); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	if _, err := NewWebhook("http://example.com", true); err != nil {
		t.Error(err)
	}
}
