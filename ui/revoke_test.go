package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/reviews"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/review"
)

// jane opens the page as the person whom reviewed knows.
func (w *world) jane() *page {
	w.Helper()
	p := &page{world: w}
	rec := p.do("POST", "api/session", `{"bearer":"janes-token"}`)
	var in struct{ Key string }
	if err := json.Unmarshal(rec.Body.Bytes(), &in); err != nil || in.Key == "" {
		w.Fatalf("%d %s", rec.Code, rec.Body)
	}
	p.key, p.cookie = in.Key, rec.Result().Cookies()[0]
	return p
}

// TestALogEndsWithTheRightToReadIt: a log that is followed ends when the permission is
// revoked, and when the session ends.
func TestALogEndsWithTheRightToReadIt(t *testing.T) {
	for _, how := range []string{"revoked", "session"} {
		t.Run(how, func(t *testing.T) {
			inWorld(t, Options{TokenReview: true}, func(w *world) {
				revoke := w.reviewed()
				w.pod("a", "Running")
				w.srv.On(apitest.Match{Path: kube.Pods.ObjectPath(kube.Key{Namespace: "shop", Name: "a"}, "log")}, func(rw http.ResponseWriter, r *http.Request) {
					fmt.Fprintln(rw, "started")
					_ = http.NewResponseController(rw).Flush() // the test sees what comes
					<-r.Context().Done()
				})
				w.pass(time.Second)
				p := w.jane()
				r, out := io.Pipe()
				ctx, cancel := context.WithCancel(w.ctx)
				var ended atomic.Bool
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer ended.Store(true)
					p.ui.ServeHTTP(&pipe{http.Header{}, r, out}, p.request("GET", "api/logs?ns=shop&name=a&follow=1", "").WithContext(ctx))
				}()
				go func() { _, _ = io.Copy(io.Discard, r) }() // until the end of the test
				w.pass(time.Minute)
				if ended.Load() {
					t.Fatal("the log ended while it may be read")
				}
				if how == "revoked" {
					revoke()
				} else if rec := p.do("DELETE", "api/session", ""); rec.Code != 204 {
					t.Fatalf("%d %s", rec.Code, rec.Body)
				}
				w.pass(2 * review.For)
				if !ended.Load() {
					t.Error("the log is followed still")
				}
				cancel()
				<-done
				out.Close()
			})
		})
	}
}

// TestAnOutageOfReviewsIsNotTheEnd: a stream breaks while nobody says what may be seen,
// and the page connects again by itself, which it does not after the event end.
func TestAnOutageOfReviewsIsNotTheEnd(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		var down atomic.Bool
		w.srv.On(apitest.Match{Path: reviews.Accesses.Path("")}, func(rw http.ResponseWriter, r *http.Request) {
			if down.Load() {
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			apitest.Continue(rw, r)
		})
		w.reviewed()
		w.pod("a", "Running")
		w.pass(time.Second)
		p := w.jane()
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods"}]}`)
		s := p.stream("client-1", "")
		time.AfterFunc(5*time.Second, func() { down.Store(true) })
		began := time.Now()
		s.read(3 * time.Minute)
		if time.Since(began) >= 3*time.Minute {
			t.Error("the stream goes on without reviews")
		}
		for _, e := range s.seen {
			if e.name == "end" {
				t.Errorf("end: %s", e.data)
			}
		}
		down.Store(false)
		s = p.stream("client-1", s.lastID)
		s.read(time.Second)
		if names := s.names("w", -1); len(names) != 1 || names[0] != "a" {
			t.Errorf("rows after the outage: %v", names)
		}
	})
}
