package livepage

import (
	"net/http/httptest"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/ui"
)

// TestSite: each cluster has a path, whether a proxy removes the base or not; other paths lead
// to the first one or nowhere.
func TestSite(t *testing.T) {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{base: "/live"}
	for _, name := range []string{"eu", "../arn:aws/eu?"} {
		if err := s.add(ui.Options{Client: c, Name: name}, true); err != nil {
			t.Fatal(err)
		}
	}
	const odd = "_2e._2farn_3aaws_2feu_3f"
	for path, want := range map[string]struct {
		code int
		to   string
	}{
		"/live/eu/":            {200, ""},
		"/eu/":                 {200, ""},
		"/eu":                  {307, "/live/eu/"},
		"/live/" + odd + "/":   {200, ""},
		"/" + odd + "/app.css": {200, ""},
		"/":                    {307, "/live/eu/"},
		"/live":                {307, "/live/eu/"},
		"/live/":               {307, "/live/eu/"},
		"/live/europe/":        {404, ""},
		"/liveeu/":             {404, ""},
		"/us/":                 {404, ""},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8080"+path, nil))
		if w.Code != want.code || w.Header().Get("Location") != want.to {
			t.Errorf("%s: %d %q, want %+v", path, w.Code, w.Header().Get("Location"), want)
		}
	}
}
