package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestOldConnectionsGetNoNewRequests: clients of one age do not leave at once, and a
// watch stays.
func TestOldConnectionsGetNoNewRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, plain bool) {
		ca := newAuthority(t)
		g := newGate(t, ca)
		more, ended := make(chan struct{}), make(chan struct{})
		g.serve = func(w http.ResponseWriter, r *http.Request) {
			say(w, "x")
			if r.URL.Path == "/watch" {
				<-more
				say(w, "y")
				<-r.Context().Done()
				close(ended)
			}
		}
		c := g.client(client.Config{DisableHTTP2: plain, TLS: client.TLS{CAData: ca.pem}, MaxConnAge: 10 * time.Minute})
		watch, err := c.Do(t.Context(), &client.Request{Path: "/watch", Watch: true, Idle: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		get(t, c)
		g.check(2, "nobody", "nobody")
		var ages []time.Duration
		for len(ages) < 20 {
			pass(20 * time.Second)
			get(t, c)
			if g.dials > 0 {
				ages = append(ages, time.Since(start))
				start = time.Now()
			}
			g.seen, g.dials = nil, 0
		}
		lo, hi := slices.Min(ages), slices.Max(ages)
		if lo < 8*time.Minute || hi > 12*time.Minute+20*time.Second || hi-lo < 2*time.Minute {
			t.Errorf("connections grew %v to %v old; want 8 to 12 minutes, spread", lo, hi)
		}
		close(more)
		b := make([]byte, 2)
		if _, err := io.ReadFull(watch.Body, b); err != nil || string(b) != "xy" {
			t.Errorf("the watch read %q, %v", b, err)
		}
		watch.Body.Close()
		<-ended
	})
}

func TestConnectionsAreKeptByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := newAuthority(t)
		g := newGate(t, ca)
		c := g.client(client.Config{TLS: client.TLS{CAData: ca.pem}})
		for range 200 {
			get(t, c)
			pass(time.Minute)
		}
		if g.dials != 1 {
			t.Errorf("%d connections in 200 minutes, want 1", g.dials)
		}
	})
}

// TestDeadPeerIsNoticed: the connection stays open and nothing comes. Over HTTP/1.1
// what bears no silence notices; over HTTP/2 pings do, unless that is sooner. The
// next request has another connection.
func TestDeadPeerIsNoticed(t *testing.T) {
	const pings = 45 * time.Second // 30 of silence, 15 for the answer
	for _, tt := range []struct {
		name    string
		plain   bool
		verb    string
		after   int // events of a watch before it goes dead; 0 = before the headers, -1 = in mid-body
		timeout time.Duration
		idle    time.Duration
		want    time.Duration
	}{
		{"LIST over HTTP/1.1", true, "list", 0, 20 * time.Second, 0, 20 * time.Second},
		{"LIST over HTTP/2", false, "list", 0, 20 * time.Second, 0, 20 * time.Second},
		{"LIST over HTTP/1.1, patient", true, "list", 0, 10 * time.Minute, 0, 10 * time.Minute},
		{"LIST over HTTP/2, patient", false, "list", 0, 10 * time.Minute, 0, pings},
		{"body of a LIST over HTTP/1.1", true, "list", -1, time.Minute, 10 * time.Second, 10 * time.Second},
		{"body of a LIST over HTTP/2", false, "list", -1, time.Minute, 10 * time.Second, 10 * time.Second},
		{"body of a LIST over HTTP/2, patient", false, "list", -1, time.Minute, 0, pings},
		{"headers of a WATCH over HTTP/1.1", true, "watch", 0, 20 * time.Second, time.Hour, 20 * time.Second},
		{"headers of a WATCH over HTTP/2", false, "watch", 0, 20 * time.Second, time.Hour, 20 * time.Second},
		{"WATCH over HTTP/1.1", true, "watch", 2, time.Minute, 3 * time.Minute, 3 * time.Minute},
		{"WATCH over HTTP/2", false, "watch", 2, time.Minute, 10 * time.Second, 10 * time.Second},
		{"WATCH over HTTP/2, patient", false, "watch", 2, time.Minute, 3 * time.Minute, pings},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true, BookmarkInterval: -1})
				for _, name := range []string{"a", "b"} {
					srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"d","name":"`+name+`"}}`)
				}
				var dials atomic.Int32
				c := newClient(t, client.Config{
					Server: srv.URL, TLS: client.TLS{CAData: srv.CAPEM()}, DisableHTTP2: tt.plain, Timeout: tt.timeout,
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						dials.Add(1)
						return srv.Dial(ctx, network, address)
					},
				})
				req := &client.Request{Path: kube.ConfigMaps.Path(""), Idle: tt.idle}
				if tt.verb == "watch" {
					req.Watch, req.Query = true, map[string][]string{"watch": {"1"}, "resourceVersion": {"100"}, "timeoutSeconds": {"3600"}}
				}
				srv.On(apitest.Match{Verb: tt.verb, AfterEvent: max(0, tt.after), Nth: 1}, func(w http.ResponseWriter, r *http.Request) {
					if tt.after < 0 {
						say(w, "{")
					}
					pass(1) // until what was said has left
					faults.HalfOpen()(w, r)
				})
				start := time.Now()
				_, err := do(t.Context(), c, req)
				if took := time.Since(start); err == nil || took != tt.want {
					t.Errorf("noticed after %v, want %v: %v", took, tt.want, err)
				}
				if idle := tt.want != pings; errors.Is(err, client.ErrIdle) != idle {
					t.Errorf("Do: %v; ErrIdle %t", err, idle)
				}
				dials.Store(0)
				again := *req
				again.Query = nil // a LIST, over the pool that went dead
				start = time.Now()
				if _, err := do(t.Context(), c, &again); err != nil || time.Since(start) != 0 || dials.Load() != 1 {
					t.Errorf("the next request: %v after %v, over %d new connections", err, time.Since(start), dials.Load())
				}
			})
		})
	}
}
