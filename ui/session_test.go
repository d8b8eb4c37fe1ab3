package ui

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWhoGetsIn: a request needs a cookie, the key of its session, and to come from the
// page itself, under a name of the listener. A token works once.
func TestWhoGetsIn(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p, other := w.open(), w.open()
		for _, test := range []struct {
			name   string
			change func(*http.Request)
			code   int
		}{
			{"the page", func(*http.Request) {}, 200},
			{"without a key", func(r *http.Request) { r.Header.Del(header) }, 401},
			{"with the key of another session", func(r *http.Request) { r.Header.Set(header, other.key) }, 401},
			{"without a cookie", func(r *http.Request) { r.Header.Del("Cookie") }, 401},
			{"a page on another port", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
			{"another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
			{"an address bar", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }, 403},
			{"a script outside of browsers", func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, 403},
			{"a name that leads to the loopback", func(r *http.Request) { r.Host = "rebound.example:8080" }, 403},
			{"another origin", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:9090") }, 403},
		} {
			for _, path := range []string{"api/types", "api/stream?client=client-1", "api/logs?ns=a&name=b"} {
				if test.code == 200 && path != "api/types" {
					continue
				}
				r := p.request("GET", path, "")
				test.change(r)
				rec := httptest.NewRecorder()
				w.ui.ServeHTTP(rec, r)
				if rec.Code != test.code {
					t.Errorf("%s, %s: %d %s, want %d", test.name, path, rec.Code, rec.Body, test.code)
				}
			}
		}
		token := w.ui.Token()
		for i, want := range []int{200, 401} {
			if rec := p.do("POST", "api/session", `{"token":"`+token+`"}`); rec.Code != want {
				t.Errorf("use %d of a token: %d", i+1, rec.Code)
			}
		}
		if rec := p.do("POST", "api/session", `{"token":""}`); rec.Code != 401 {
			t.Errorf("no token: %d", rec.Code)
		}
	})
}

// TestTheCookieIsForThisPageAlone: no script reads it, no other site sends it, and another
// port's page has another one.
func TestTheCookieIsForThisPageAlone(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		c := w.open().cookie
		if c.Name != "listwatch-8080" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" {
			t.Errorf("%+v", c)
		}
	})
}

// TestTheCookieOfAnEncryptedPageIsSecure: also where a proxy ends TLS, which shows in the
// Origin that the browser sends. Headers about proxies have no effect.
func TestTheCookieOfAnEncryptedPageIsSecure(t *testing.T) {
	inWorld(t, Options{Hosts: []string{"page.example"}}, func(w *world) {
		for _, test := range []struct {
			name   string
			change func(*http.Request)
			secure bool
		}{
			{"over http", func(*http.Request) {}, false},
			{"over http, with headers of a proxy", func(r *http.Request) {
				r.Header.Set("X-Forwarded-Proto", "https")
				r.Header.Set("Forwarded", "proto=https")
			}, false},
			{"over TLS", func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, true},
			{"behind a proxy that ends TLS", func(r *http.Request) {
				r.Host = "page.example"
				r.Header.Set("Origin", "https://page.example")
			}, true},
		} {
			for _, path := range []string{"api/session", "plain"} {
				kind, body := "application/json", `{"token":"`+w.ui.Token()+`"}`
				if path == "plain" {
					kind, body = "application/x-www-form-urlencoded", "token="+w.ui.Token()
				}
				r := (&page{world: w}).request("POST", path, body)
				r.Header.Set("Content-Type", kind)
				test.change(r)
				rec := httptest.NewRecorder()
				w.ui.ServeHTTP(rec, r)
				cookies := rec.Result().Cookies()
				if len(cookies) != 1 || cookies[0].Secure != test.secure {
					t.Errorf("%s, %s: %d, %+v, want Secure %t", test.name, path, rec.Code, cookies, test.secure)
				}
			}
		}
	})
}

func TestWhatBrowsersMayDo(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		for _, path := range []string{"", "app.js", "api/types", "api/nothing", "plain"} {
			rec := p.do("GET", path, "")
			csp := rec.Header().Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'self'", "frame-ancestors 'none'", "object-src 'none'"} {
				if !strings.Contains(csp, want) {
					t.Errorf("/%s: no %s", path, want)
				}
			}
			if strings.Contains(csp, "unsafe") || rec.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("/%s: %v", path, rec.Header())
			}
		}
	})
}

// TestASessionEnds: by its own wish, with its streams, and after a time without a request.
func TestASessionEnds(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		s := p.stream("client-1", "")
		go func() { <-time.After(time.Second); p.do("DELETE", "api/session", "") }()
		s.read(10 * time.Second)
		if last := s.seen[len(s.seen)-1]; last.name != "end" || !strings.Contains(string(last.data), "unauthorized") {
			t.Errorf("%s %s", last.name, last.data)
		}
		if rec := p.do("GET", "api/types", ""); rec.Code != 401 {
			t.Errorf("%d", rec.Code)
		}
		p = w.open()
		p.do("GET", "api/types", "")
		w.pass(sessionIdle + time.Second)
		if rec := p.do("GET", "api/types", ""); rec.Code != 401 {
			t.Errorf("after %v: %d", sessionIdle, rec.Code)
		}
	})
}

// TestBadRequests are refused with a reason, and nothing else happens.
func TestBadRequests(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		for _, test := range []struct {
			method, path, body string
			code               int
		}{
			{"GET", "api/list?type=nothing", "", 404},
			{"GET", "api/list?type=pods&rows=501", "", 400},
			{"GET", "api/list?type=pods&rows=-1", "", 400},
			{"GET", "api/list?type=pods&sort=x", "", 400},
			{"GET", "api/list?type=pods&labels=a%3D%3D%3Db", "", 400},
			{"GET", "api/list?type=pods&text=" + strings.Repeat("x", maxQuery+1), "", 400},
			{"GET", "api/object?type=pods&ns=a&name=b", "", 404},
			{"GET", "api/logs?ns=..&name=b", "", 400},
			{"GET", "api/logs?ns=a&name=b%2F..%2F..", "", 400},
			{"GET", "api/activity?buckets=1001", "", 400},
			{"GET", "api/changes?limit=501", "", 400},
			{"GET", "api/changes?text=" + strings.Repeat("x", maxQuery+1), "", 400},
			{"GET", "api/activity?types=" + strings.Repeat("x,", maxQuery), "", 400},
			{"GET", "api/stream?client=short", "", 400},
			{"POST", "api/subscribe", `{"client":"client-1","windows":[{"id":"<script>","type":"pods"}]}`, 400},
			{"POST", "api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods"},{"id":"w","type":"pods","ns":"a"}]}`, 400},
			{"POST", "api/subscribe", `{"client":"client-1","activity":{"text":"` + strings.Repeat("x ", maxQuery) + `"}}`, 400},
			{"POST", "api/subscribe", `{"client":"client-1"`, 400},
			{"POST", "api/subscribe", `{"client":"` + strings.Repeat("x", maxBody) + `"}`, 413},
			{"POST", "api/subscribe", `{"client":"client-1","windows":[` + strings.Repeat(`{},`, maxWindows) + `{}]}`, 400},
			{"POST", "api/moment", `{}`, 404},
		} {
			if rec := p.do(test.method, test.path, test.body); rec.Code != test.code || !strings.Contains(rec.Body.String(), `"reason"`) {
				t.Errorf("%s %.80s %.80s: %d %s, want %d", test.method, test.path, test.body, rec.Code, rec.Body, test.code)
			}
		}
		if n := len(w.ui.kind("pods").views); n > 0 {
			t.Errorf("%d views are kept up to date for nobody", n)
		}
	})
}
