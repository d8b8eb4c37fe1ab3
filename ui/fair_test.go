package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/reviews"
	"github.com/listwatch/listwatch/kube"
)

// judged has the server answer reviews: the token of each user is the name, and allowed says
// what a user may do.
func (w *world) judged(allowed func(user string, a reviews.Resource) bool) {
	answer := func(rw http.ResponseWriter, status any) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(map[string]any{"status": status}) // the client sees what it gets
	}
	var in struct {
		Spec struct {
			Token, User        string
			ResourceAttributes reviews.Resource
		}
	}
	w.srv.On(apitest.Match{Path: reviews.Tokens.Path("")}, func(rw http.ResponseWriter, r *http.Request) {
		in := in
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.Error(err)
		}
		answer(rw, map[string]any{"authenticated": true, "user": map[string]any{"username": in.Spec.Token}})
	})
	w.srv.On(apitest.Match{Path: reviews.Accesses.Path("")}, func(rw http.ResponseWriter, r *http.Request) {
		in := in
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.Error(err)
		}
		answer(rw, map[string]any{"allowed": allowed(in.Spec.User, in.Spec.ResourceAttributes)})
	})
}

// as opens the page as a person.
func (w *world) as(name string) *page {
	w.Helper()
	p := &page{world: w}
	rec := p.do("POST", "api/session", `{"bearer":"`+name+`"}`)
	var in struct{ Key string }
	if err := json.Unmarshal(rec.Body.Bytes(), &in); err != nil || in.Key == "" {
		w.Fatalf("%d %s", rec.Code, rec.Body)
	}
	p.key, p.cookie = in.Key, rec.Result().Cookies()[0]
	return p
}

// TestNamespacesOfOthersAreNotNamed: who may see nodes may see all of a type, but of no
// namespace; nor does the right to one type name the namespaces of others.
func TestNamespacesOfOthersAreNotNamed(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		w.judged(func(_ string, a reviews.Resource) bool {
			return a.Resource == "nodes" || a.Resource == "configmaps" || a.Resource == "pods" && a.Namespace == "shop"
		})
		w.srv.Put(kube.Resource{Version: "v1", Plural: "nodes", Kind: "Node"}, `{"metadata":{"name":"n1"}}`)
		w.srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"web","name":"c"}}`)
		w.pod("a", "Running")
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"bank","name":"vault"}}`)
		w.pass(time.Second)
		var st wireState
		w.as("jane").get("api/state", &st)
		if diff := cmp.Diff([]string{"shop", "web"}, st.Namespaces); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAPersonOfOneNamespaceAmongMany: who names the namespace is shown it, in lists,
// streams and objects, although not all are asked about.
func TestAPersonOfOneNamespaceAmongMany(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		w.judged(func(_ string, a reviews.Resource) bool { return a.Resource == "pods" && a.Namespace == "zoo" })
		for n := range maxPlaces + 50 {
			w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"ns-%03d","name":"a"}}`, n))
		}
		w.srv.Put(kube.Pods, `{"metadata":{"namespace":"zoo","name":"lion"}}`)
		w.pass(time.Second)
		p := w.as("jane")
		if rec := p.do("GET", "api/object?type=pods&ns=zoo&name=lion", ""); rec.Code != 200 {
			t.Errorf("the object: %d %s", rec.Code, rec.Body)
		}
		if rec := w.as("jane").do("GET", "api/list?type=pods&ns=zoo", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), "lion") {
			t.Errorf("the list: %d %s", rec.Code, rec.Body)
		}
		p = w.as("jane")
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods","ns":"zoo"}]}`)
		s := p.stream("client-1", "")
		time.AfterFunc(20*time.Second, func() { w.srv.Put(kube.Pods, `{"metadata":{"namespace":"zoo","name":"tiger"}}`) })
		s.read(30 * time.Second)
		if diff := cmp.Diff([]string{"lion", "tiger"}, s.names("w", -1)); diff != "" {
			t.Errorf("the stream (-want +got):\n%s", diff)
		}
		if rec := p.do("GET", "api/object?type=pods&ns=ns-001&name=a", ""); rec.Code != 403 {
			t.Errorf("another namespace: %d %s", rec.Code, rec.Body)
		}
	})
}

// TestATreeStaysInItsNamespace: an owner and what it owns are in one namespace, or the owner
// is in none. An object elsewhere that names the owner is none of its, and no other
// namespace is asked about.
func TestATreeStaysInItsNamespace(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		var asked atomic.Int64
		w.judged(func(user string, a reviews.Resource) bool {
			asked.Add(1)
			return user == "root" || a.Namespace == "ns-001"
		})
		for n := range maxPlaces {
			w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"ns-%03d","name":"a"}}`, n))
		}
		w.srv.Put(kube.Deployments, `{"metadata":{"namespace":"ns-001","name":"web","uid":"w1"}}`)
		for _, ns := range []string{"ns-001", "ns-002"} {
			w.srv.Put(kube.Pods, `{"metadata":{"namespace":"`+ns+`","name":"child-of-`+ns+`","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"w1","controller":true}]}}`)
		}
		w.pass(time.Second)
		p := w.as("jane")
		asked.Store(0)
		if rec := p.do("GET", "api/tree?type=deployments.apps&ns=ns-001&name=web", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), "child-of-ns-001") {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if n, most := asked.Load(), int64(4*len(w.ui.types())); n > most {
			t.Errorf("%d reviews, want at most %d", n, most)
		}
		p = w.as("root")
		if body := p.do("GET", "api/tree?type=deployments.apps&ns=ns-001&name=web", "").Body.String(); strings.Contains(body, "child-of-ns-002") {
			t.Errorf("an object of another namespace is owned: %s", body)
		}
		if body := p.do("GET", "api/tree?type=pods&ns=ns-002&name=child-of-ns-002", "").Body.String(); !strings.Contains(body, `"missing":true`) {
			t.Errorf("an owner is in another namespace: %s", body)
		}
	})
}

// TestOnePersonDoesNotEndSessionsOfOthers: by many of their own.
func TestOnePersonDoesNotEndSessionsOfOthers(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		w.judged(func(string, reviews.Resource) bool { return true })
		jane, first := w.as("jane"), w.as("mallory")
		for range maxSessions + 1 {
			w.pass(time.Millisecond)
			w.as("mallory")
		}
		if rec := jane.do("GET", "api/state", ""); rec.Code != 200 {
			t.Errorf("jane: %d %s", rec.Code, rec.Body)
		}
		if rec := first.do("GET", "api/state", ""); rec.Code != 401 {
			t.Errorf("the oldest of 258 sessions of mallory: %d %s", rec.Code, rec.Body)
		}
	})
}

// TestLoginsAtOnceAreLimited: whoever reaches the page may send tokens, and each is a
// request to the server.
func TestLoginsAtOnceAreLimited(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		var now, most atomic.Int64
		w.srv.On(apitest.Match{Path: reviews.Tokens.Path("")}, func(rw http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			<-time.After(100 * time.Millisecond)
			apitest.Continue(rw, r)
		})
		w.judged(func(string, reviews.Resource) bool { return true })
		done := make(chan int, 200)
		for n := range cap(done) {
			go func() {
				p := &page{world: w}
				done <- p.do("POST", "api/session", fmt.Sprintf(`{"bearer":"t%d"}`, n)).Code
			}()
		}
		for range cap(done) {
			if code := <-done; code != 200 {
				t.Errorf("%d", code)
			}
		}
		if n := most.Load(); n > maxLogins {
			t.Errorf("%d reviews at once, want at most %d", n, maxLogins)
		}
	})
}

// unread is the connection of a client that reads nothing for as long as it may.
type unread struct {
	h        http.Header
	began    func()
	refused  bool
	deadline time.Time
}

func (c *unread) Header() http.Header                 { return c.h }
func (c *unread) WriteHeader(code int)                { c.refused = code != http.StatusOK }
func (c *unread) SetWriteDeadline(at time.Time) error { c.deadline = at; return nil }
func (c *unread) Write(b []byte) (int, error) {
	if !c.refused {
		c.began()
	}
	if c.deadline.IsZero() {
		select {}
	}
	<-time.After(time.Until(c.deadline))
	return 0, http.ErrHandlerTimeout
}

// TestAnswersThatNobodyReadsAreFew: one person holds the memory of few answers, of few
// logs, for two minutes each, and others go on.
func TestAnswersThatNobodyReadsAreFew(t *testing.T) {
	for path, most := range map[string]int64{"api/object?type=pods&ns=shop&name=a": maxTurns, "api/logs?ns=shop&name=a&follow=1": maxLogs} {
		inWorld(t, Options{TokenReview: true}, func(w *world) {
			w.judged(func(string, reviews.Resource) bool { return true })
			w.srv.On(apitest.Match{Path: kube.Pods.ObjectPath(kube.Key{Namespace: "shop", Name: "a"}, "log")}, func(rw http.ResponseWriter, r *http.Request) {
				fmt.Fprintln(rw, "started")
			})
			w.pod("a", "Running")
			w.pass(time.Second)
			mallory, jane := w.as("mallory"), w.as("jane")
			var writing atomic.Int64
			ended := make(chan struct{}, 100)
			for range cap(ended) {
				go func() {
					c := &unread{h: http.Header{}, began: func() { writing.Add(1) }}
					w.ui.ServeHTTP(c, mallory.request("GET", path, ""))
					ended <- struct{}{}
				}()
			}
			w.pass(time.Minute)
			if n := writing.Load(); n != most {
				t.Errorf("%s: %d answers wait for their reader, want %d", path, n, most)
			}
			if rec := jane.do("GET", path, ""); rec.Code != 200 {
				t.Errorf("%s: jane: %d %s", path, rec.Code, rec.Body)
			}
			for range cap(ended) {
				<-ended
			}
		})
	}
}

// TestWordsOfASearchAreLimited: each is looked for in each cell, while the type waits.
func TestWordsOfASearchAreLimited(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		for n, code := range map[int]int{maxWords: 200, maxWords + 1: 400} {
			words := strings.Join(slices.Repeat([]string{"-q"}, n), "+")
			labels := strings.Join(slices.Repeat([]string{"a!%3Db"}, n), ",")
			for _, path := range []string{"api/list?type=pods&text=" + words, "api/list?type=pods&labels=" + labels, "api/changes?text=" + words, "api/activity?text=" + words} {
				if rec := p.do("GET", path, ""); rec.Code != code {
					t.Errorf("%d in %.30s: %d %s, want %d", n, path, rec.Code, rec.Body, code)
				}
			}
		}
	})
}
