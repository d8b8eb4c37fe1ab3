package watch_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// holding is a transport that hands on the body of a watch when it has ended, as a proxy
// that buffers responses does.
type holding struct{ http.RoundTripper }

func (h holding) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(req)
	if err == nil && req.URL.Query().Has("watch") {
		resp.Body = &held{ReadCloser: resp.Body}
	}
	return resp, err
}

type held struct {
	io.ReadCloser
	all io.Reader
}

func (h *held) Read(b []byte) (int, error) {
	if h.all == nil {
		all, err := io.ReadAll(h.ReadCloser)
		if err != nil {
			return 0, err
		}
		h.all = bytes.NewReader(all)
	}
	return h.all.Read(b)
}

// TestWatcherBehindAProxyThatHoldsResponsesBack gets what happens, though late: watches end
// before their silence is too long.
func TestWatcherBehindAProxyThatHoldsResponsesBack(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		c, err := client.New(client.Config{Server: s.srv.URL, Dial: s.srv.Dial, Wrap: func(rt http.RoundTripper) http.RoundTripper { return holding{rt} }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		s.client = c
		s.w = watch.New(s.collection(), watch.Options{})
		s.start()
		s.pass(time.Minute)
		s.churn("a")
		s.pass(5 * time.Minute) // the silence is noticed, and a short watch ends
		s.equal()
		s.churn("b")
		s.pass(2 * time.Minute)
		s.equal()
		s.listings(1)
	})
}

// gateway is a transport that hands on a watch when it has ended, the headers too, and cuts it
// after some time, as nginx does by default.
type gateway struct {
	http.RoundTripper
	after time.Duration
	clean bool // the cut is an empty response, not a 504
}

func (g gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	if !req.URL.Query().Has("watch") {
		return g.RoundTripper.RoundTrip(req)
	}
	ctx, cancel := context.WithTimeout(req.Context(), g.after)
	defer cancel()
	resp, err := g.RoundTripper.RoundTrip(req.WithContext(ctx))
	var all []byte
	if err == nil {
		all, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	switch {
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case err != nil && ctx.Err() == nil:
		return nil, err
	case err != nil && !g.clean:
		return &http.Response{StatusCode: http.StatusGatewayTimeout, Body: io.NopCloser(strings.NewReader("<h1>504</h1>")), Request: req}, nil
	case err != nil:
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody, Request: req}, nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(all))
	return resp, nil
}

// TestWatcherBehindAProxyThatHoldsHeadersBack and cuts watches gets what happens, though late.
func TestWatcherBehindAProxyThatHoldsHeadersBack(t *testing.T) {
	for _, after := range []time.Duration{10 * time.Second, 15 * time.Second, 60 * time.Second, 5 * time.Minute} {
		for _, clean := range []bool{false, true} {
			t.Run(fmt.Sprint(after, clean), func(t *testing.T) {
				play(t, watch.Options{}, func(t *testing.T, s *story) {
					c, err := client.New(client.Config{Server: s.srv.URL, Dial: s.srv.Dial, Wrap: func(rt http.RoundTripper) http.RoundTripper {
						return gateway{rt, after, clean}
					}})
					if err != nil {
						t.Fatal(err)
					}
					defer c.CloseIdleConnections()
					s.client = c
					s.w = watch.New(s.collection(), watch.Options{})
					s.start()
					s.churn("a")
					s.pass(5 * time.Minute)
					s.equal()
					s.churn("b")
					s.pass(20 * time.Minute) // until watches are short enough
					s.equal()
					for range 10 {
						s.churn("b")
						s.pass(3 * time.Minute)
						s.equal()
					}
				})
			})
		}
	}
}

// TestWatcherWhoseWatchesAreMute lists again when the server has moved on.
func TestWatcherWhoseWatchesAreMute(t *testing.T) {
	for name, watches := range map[string]http.HandlerFunc{
		"open":          func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"ended at once": func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, watch.Options{Initial: watch.Paged}, func(t *testing.T, s *story) {
				s.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusOK)
					if err := http.NewResponseController(w).Flush(); err != nil {
						t.Error(err)
					}
					watches(w, r)
				})
				s.start()
				s.pass(time.Hour)
				s.listings(1) // nothing changes
				s.churn("a")
				s.pass(20 * time.Minute)
				s.equal()
			})
		})
	}
}

// TestWatcherOfAServerThatWasRestoredWhileItWasDown notices that by its first request, though
// the server soon has later revisions again.
func TestWatcherOfAServerThatWasRestoredWhileItWasDown(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		past := s.srv.Revision()
		s.churn("lost")
		s.pass(time.Minute)
		s.srv.Down(apitest.Refusing, 20*time.Second)
		s.srv.RestoreTo(past)
		s.pass(time.Minute)
		for i := range 20 {
			s.churn(fmt.Sprint(i))
		}
		s.pass(time.Minute)
		s.equal()
	})
}

// TestWatcherOfAServerThatWasRestored notices that though watches are empty and end as asked: on
// a server without bookmarks that is busy elsewhere, and where watches are shorter than Idle.
// TestWatcherThatWasStoppedWhileTheServerWasRestored finds a server that answers, and passes
// the revision of the watcher a little later.
func TestWatcherThatWasStoppedWhileTheServerWasRestored(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		t.Run(fmt.Sprint(timeout), func(t *testing.T) {
			play(t, watch.Options{Timeout: timeout}, func(t *testing.T, s *story) {
				s.start()
				past := s.srv.Revision()
				s.churn("lost")
				s.pass(time.Minute)
				s.srv.RestoreTo(past) // which ends the watches
				s.pass(2 * time.Second)
				for i := range 20 {
					s.churn(fmt.Sprint(i))
				}
				s.pass(time.Minute)
				s.equal()
			})
		})
	}
}

// TestWatcherWhoseProbesFail has events, late, of a server that fails lists but not watches.
func TestWatcherWhoseProbesFail(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.srv.On(apitest.Match{Verb: "list"}, faults.Reset())
		s.srv.Down(apitest.Refusing, 20*time.Second)
		for i := range 20 {
			s.pass(2 * time.Minute)
			s.churn(fmt.Sprint(i))
		}
		s.pass(2 * time.Minute)
		s.equal()
	})
}

func TestWatcherOfAServerThatWasRestored(t *testing.T) {
	for name, o := range map[string]watch.Options{
		"defaults":       {},
		"short watches":  {Timeout: time.Minute},
		"rare lists":     {Timeout: time.Minute, Idle: 10 * time.Minute},
		"without stream": {Initial: watch.Paged},
	} {
		for _, bookmarks := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprint(name, ", bookmarks ", bookmarks), func(t *testing.T) {
				playOn(t, apitest.Options{BookmarkInterval: bookmarks}, o, func(t *testing.T, s *story) {
					s.start()
					s.pass(time.Minute)
					past := s.srv.Revision()
					s.churn("a")
					s.pass(time.Minute)
					for i := range 60 { // busy elsewhere: watches get shorter
						s.srv.Put(kube.Pods, map[string]any{"metadata": map[string]any{"name": "busy", "namespace": "default"}, "spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": fmt.Sprint("a:", i)}}}})
						s.pass(time.Minute)
					}
					s.equal()
					s.srv.RestoreTo(past)
					s.pass(25 * time.Minute)
					s.equal()
				})
			})
		}
	}
}
