package ui

import (
	"encoding/json"
	"testing"
)

// TestLinkedPages: who was let in to one goes to another by a link of it, which works once; a
// page that is linked to none, and names of others, are refused.
func TestLinkedPages(t *testing.T) {
	inWorld(t, Options{Name: "eu", BasePath: "/eu"}, func(w *world) {
		p := w.open()
		if rec := p.do("POST", "api/switch", `{"to":"eu"}`); rec.Code != 404 {
			t.Errorf("a page alone: %d %s", rec.Code, rec.Body)
		}
		us, err := New(Options{Client: w.client, Name: "us", BasePath: "/us"})
		if err == nil {
			err = Link(w.ui, us)
		}
		if err != nil {
			t.Fatal(err)
		}
		var st wireState
		if p.get("api/state", &st); len(st.Clusters) != 2 || st.Clusters[1] != "us" {
			t.Errorf("%q", st.Clusters)
		}
		rec := p.do("POST", "api/switch", `{"to":"us"}`)
		var to struct{ Path, Token string }
		if err := json.Unmarshal(rec.Body.Bytes(), &to); err != nil || to.Path != "/us/" {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		there := &page{world: &world{T: t, ui: us}}
		for _, want := range []int{200, 401} {
			if rec := there.do("POST", "us/api/session", `{"token":"`+to.Token+`"}`); rec.Code != want {
				t.Errorf("%d %s, want %d", rec.Code, rec.Body, want)
			}
		}
		for body, want := range map[string]int{`{"to":"asia"}`: 404, `{}`: 404, `[]`: 400} {
			if rec := p.do("POST", "api/switch", body); rec.Code != want {
				t.Errorf("%s: %d %s, want %d", body, rec.Code, rec.Body, want)
			}
		}
		if rec := (&page{world: w}).do("POST", "api/switch", `{"to":"us"}`); rec.Code != 401 {
			t.Errorf("without a session: %d %s", rec.Code, rec.Body)
		}
	})
}

// TestLinkRefuses pages that cannot be told apart, and those of several people.
func TestLinkRefuses(t *testing.T) {
	inWorld(t, Options{Name: "eu", BasePath: "/eu"}, func(w *world) {
		for _, o := range []Options{{Name: "eu", BasePath: "/us"}, {Name: "us", BasePath: "/eu"}, {Name: "us", BasePath: "/us", TokenReview: true}} {
			o.Client = w.client
			other, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := Link(w.ui, other); err == nil {
				t.Errorf("linked: %+v", o)
			}
		}
	})
}
