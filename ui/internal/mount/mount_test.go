package mount

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestBelow(t *testing.T) {
	h, err := Below("/live/eu", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"/live/eu/":           "200 /",
		"/live/eu/api/list":   "200 /api/list",
		"/live/eu":            "307 /live/eu/",
		"/live/eu?x=1":        "307 /live/eu/",
		"/api/list":           "200 /api/list",
		"/live/europe":        "200 /live/europe",
		"/live/eu/live/eu/":   "200 /live/eu/",
		"/live/eu/plain/%2F/": "200 /plain///",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", at, nil))
		if got := fmt.Sprint(w.Code, " ", w.Body, w.Header().Get("Location")); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
}

func TestBasesThatAreNone(t *testing.T) {
	for _, base := range []string{"/", "live", "/live/", "//live", "/a/../b", "/a?b", "/a b", "https://a/b"} {
		if _, err := Below(base, nil); err == nil {
			t.Errorf("%q is taken", base)
		}
	}
	if h, err := Below("", http.NotFoundHandler()); h == nil || err != nil {
		t.Errorf("the empty base: %v", err)
	}
}
