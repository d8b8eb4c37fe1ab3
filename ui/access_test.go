package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/reviews"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/rates"
)

// reviewed has the server answer reviews: it accepts the token of jane, who may see all
// of namespace shop but for secrets.
func (w *world) reviewed() (revoke func()) {
	var gone atomic.Bool
	answer := func(status any) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusCreated)
			b, _ := json.Marshal(map[string]any{"status": status})
			_, _ = rw.Write(b)
		}
	}
	decode := func(r *http.Request, into any) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			w.Error(err)
		}
	}
	w.srv.On(apitest.Match{Path: reviews.Tokens.Path("")}, func(rw http.ResponseWriter, r *http.Request) {
		var in struct{ Spec struct{ Token string } }
		decode(r, &in)
		status := map[string]any{"authenticated": false}
		if in.Spec.Token == "janes-token" {
			status = map[string]any{"authenticated": true, "user": map[string]any{"username": "jane", "groups": []string{"devs"}}}
		}
		answer(status)(rw, r)
	})
	w.srv.On(apitest.Match{Path: reviews.Accesses.Path("")}, func(rw http.ResponseWriter, r *http.Request) {
		var in struct {
			Spec struct {
				User               string
				ResourceAttributes struct{ Namespace, Resource string }
			}
		}
		decode(r, &in)
		a := in.Spec.ResourceAttributes
		answer(map[string]any{"allowed": in.Spec.User == "jane" && a.Namespace == "shop" && a.Resource != "secrets" && !gone.Load()})(rw, r)
	})
	return func() { gone.Store(true) }
}

// TestEachPersonSeesWhatTheServerAllows: in lists, streams, counts and activity; and not
// longer than that.
func TestEachPersonSeesWhatTheServerAllows(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		revoke := w.reviewed()
		p := &page{world: w}
		for _, body := range []string{`{"bearer":"other"}`, `{"token":"` + w.ui.Token() + `"}`, `{}`} {
			if rec := p.do("POST", "api/session", body); rec.Code != 401 {
				t.Errorf("%s: %d", body, rec.Code)
			}
		}
		rec := p.do("POST", "api/session", `{"bearer":"janes-token"}`)
		var in struct{ Key string }
		if err := json.Unmarshal(rec.Body.Bytes(), &in); err != nil || in.Key == "" {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		p.key, p.cookie = in.Key, rec.Result().Cookies()[0]

		hidden := func(phase string) {
			w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"bank","name":"vault"},"status":{"phase":%q}}`, phase))
		}
		w.pod("a", "Running")
		hidden("Pending")
		w.pass(time.Second)
		for path, code := range map[string]int{
			"api/list?type=pods": 200, "api/list?type=secrets": 403, "api/list?type=nodes": 403,
			"api/object?type=pods&ns=shop&name=a": 200, "api/object?type=pods&ns=bank&name=vault": 403, "api/history?type=pods&ns=bank&name=vault": 403,
			"api/logs?ns=bank&name=vault": 403, "api/tree?type=pods&ns=bank&name=vault": 403, "api/events?type=pods&ns=bank&name=vault": 403,
			"api/managers?type=pods&ns=shop&name=a": 200, "api/managers?type=pods&ns=bank&name=vault": 403, "api/diff?type=pods&ns=bank&name=vault&a=1&b=2": 403,
		} {
			if rec := p.do("GET", path, ""); rec.Code != code {
				t.Errorf("%s: %d %s, want %d", path, rec.Code, rec.Body, code)
			}
		}
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods"}],"objects":[{"id":"o","type":"pods","ns":"bank","name":"vault"}],"activity":{}}`)
		s := p.stream("client-1", "")
		go func() {
			<-time.After(time.Second)
			w.pod("b", "Running")
			hidden("Running")
			<-time.After(time.Second)
			for _, path := range []string{"api/state", "api/types", "api/changes", "api/activity", "api/list?type=pods", fmt.Sprintf("api/list?type=pods&at=%d", now())} {
				if body := p.do("GET", path, "").Body.String(); strings.Contains(body, "bank") || strings.Contains(body, "vault") {
					t.Errorf("%s: %s", path, body)
				}
			}
			revoke()
		}()
		s.read(30 * time.Second)
		all := ""
		for _, e := range s.seen {
			if all += string(e.data); e.name == "object" {
				t.Errorf("a state of an object that jane may not see: %s", e.data)
			}
		}
		if strings.Contains(all, "bank") || strings.Contains(all, "vault") {
			t.Errorf("the stream shows what jane may not see: %s", all)
		}
		if diff := cmp.Diff(map[string]rates.Counts{"pods": {1, 0, 0}}, s.count); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if last := s.seen[len(s.seen)-1]; last.name != "end" || !strings.Contains(string(last.data), "forbidden") {
			t.Errorf("after permissions were revoked: %s %s", last.name, last.data)
		}
	})
}

// TestPlainPages: a list without JavaScript, with markup as text, and for who has the
// cookie and the key only.
func TestPlainPages(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"a"},"status":{"phase":"<script>alert(1)</script>"}}`)
		w.pass(time.Second)
		r := httptest.NewRequest("POST", "http://127.0.0.1:8080/plain", strings.NewReader(url.Values{"token": {w.ui.Token()}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		rec := httptest.NewRecorder()
		w.ui.ServeHTTP(rec, r)
		at := "/" + rec.Header().Get("Location")
		if rec.Code != http.StatusSeeOther || !strings.HasPrefix(at, "/plain/") {
			t.Fatalf("%d %s %s", rec.Code, at, rec.Body)
		}
		get := func(path string, cookie bool) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "http://127.0.0.1:8080"+path, nil)
			if cookie {
				r.AddCookie(rec.Result().Cookies()[0])
			}
			out := httptest.NewRecorder()
			w.ui.ServeHTTP(out, r)
			return out
		}
		if out := get(at, true); out.Code != 200 || !strings.Contains(out.Body.String(), "list?type=deployments.apps") {
			t.Errorf("%d %s", out.Code, out.Body)
		}
		out := get(at+"list?type=pods&text=a", true)
		if body := out.Body.String(); out.Code != 200 || !strings.Contains(body, "&lt;script&gt;") || strings.Contains(body, "<script") {
			t.Errorf("%d %s", out.Code, body)
		}
		for _, out := range []*httptest.ResponseRecorder{get(at, false), get("/plain/AAAA/", true), get("/plain/AAAA/list?type=pods", true)} {
			if out.Code != 401 {
				t.Errorf("%d %s", out.Code, out.Body)
			}
		}
	})
}
