package watch_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
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
