package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// serverFrames are in the stacks of a server's own goroutines.
var serverFrames = []string{"apitest.(*Server)", "network.(*Listener)", "apitest.(*Exchange)", "tls.(*Conn).HandshakeContext", "net/http.(*conn).serve", "net/http.(*http2serverConn)"}

// left returns the stacks of goroutines of servers.
func left() string {
	b := make([]byte, 4<<20)
	b = b[:runtime.Stack(b, true)]
	var list []string
	for stack := range strings.SplitSeq(string(b), "\n\n") {
		for _, frame := range serverFrames {
			if strings.Contains(stack, frame) && !strings.Contains(stack, "testing.tRunner") {
				list = append(list, stack)
				break
			}
		}
	}
	return strings.Join(list, "\n\n")
}

// sockets returns how many sockets the process has; 0 where that cannot be known.
func sockets() (n int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// TestCloseAtRandomMoments closes servers while clients list, watch, write, hang and
// knock, and faults strike. No goroutine and no socket of a server outlives Close.
func TestCloseAtRandomMoments(t *testing.T) {
	if before := settled(left); before != "" {
		t.Fatalf("other servers run:\n%s", before)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a webhook that never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	http.DefaultClient.CloseIdleConnections()
	before := sockets()
	for round := range uint64(24) {
		random := rand.New(rand.NewPCG(round, 3))
		srv, err := apitest.Start(apitest.Options{TLS: round%2 == 1, Namespaces: round%4 == 0, CollectGarbage: true, Seed: round})
		if err != nil {
			t.Fatal(err)
		}
		disturb(t, srv, random, "https://"+silent.Addr().String())
		var running atomic.Int64
		srv.On(apitest.Match{}, func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Add(-1)
			apitest.Continue(w, r)
			<-r.Context().Done() // the answer is there, and the handler still is
			runtime.Gosched()
		}).Times(5)
		stalled := stall(t, srv)
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for range 8 {
			own := rand.New(rand.NewPCG(random.Uint64(), 4))
			clients.Go(func() { besiege(ctx, srv, own) })
		}
		for range random.IntN(300_000) {
			runtime.Gosched()
			if random.IntN(100_000) == 0 {
				break
			}
		}
		srv.Close()
		if n := running.Load(); n != 0 {
			t.Errorf("round %d: Close returns, and %d handlers run", round, n)
		}
		srv.Close() // again is no harm
		if err := stalled.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := stalled.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("round %d: a connection that was never answered outlives Close", round)
		}
		stalled.Close()
		if stacks := settled(left); stacks != "" {
			t.Fatalf("round %d: goroutines outlive Close:\n%s", round, stacks)
		}
		cancel()
		clients.Wait()
	}
	after := func() string {
		if n := sockets(); n > before {
			return fmt.Sprintf("%d sockets, %d before", n, before)
		}
		return ""
	}
	if more := settled(after); more != "" {
		t.Error(more)
	}
}

// stall returns a connection that the server has taken and will not answer.
func stall(t *testing.T, srv *apitest.Server) net.Conn {
	t.Helper()
	if err := srv.SetDoor(apitest.Hanging); err != nil {
		t.Fatal(err)
	}
	c, err := srv.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("not stalled: %v", err)
	}
	if err := srv.SetDoor(apitest.Open); err != nil {
		t.Fatal(err)
	}
	return c
}

// settled returns what of reports once it is nothing, or after a minute.
func settled(what func() string) (s string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
		if s = what(); s == "" {
			break
		}
	}
	return s
}

// disturb sets faults, and sometimes a webhook that hangs.
func disturb(t *testing.T, srv *apitest.Server, random *rand.Rand, webhook string) {
	t.Helper()
	for _, script := range []string{"watch nth=2 after=2: cut 5", "list nth=5: delay 10s", "list nth=9: reset", "watch nth=3 after=1: hang", "list nth=20: refuse 10s", "list nth=30: stall 10s"} {
		if random.IntN(2) == 0 {
			continue
		}
		rules, err := faults.Parse(script)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := faults.Apply(srv, rules); err != nil {
			t.Fatal(err)
		}
	}
	if random.IntN(2) == 0 {
		srv.Put(kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"},
			strings.Replace(webhookOf(webhook), `"resources":["*"]`, `"resources":["secrets"]`, 1))
	}
}

// besiege sends requests of every kind until ctx ends, or nobody listens.
func besiege(ctx context.Context, srv *apitest.Server, random *rand.Rand) {
	for ctx.Err() == nil {
		method, path, body := http.MethodGet, "/api/v1/configmaps", ""
		switch random.IntN(6) {
		case 0:
			path += "?watch=1&resourceVersion=0"
		case 1:
			method, path, body = http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"metadata":{"generateName":"x"}}`
		case 2:
			method, path, body = http.MethodPost, "/api/v1/namespaces/default/secrets", `{"metadata":{"generateName":"x"}}`
		case 3:
			method, path = http.MethodDelete, "/api/v1/namespaces/default/configmaps"
		case 4:
			c, err := srv.Dial(ctx, "tcp", "")
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("GET /api HTTP/1.1\r\nHo")) // and no more
			defer c.Close()
			continue
		}
		resp, err := send(ctx, srv, method, path, body, "Content-Type", "application/json")
		if err != nil {
			if strings.Contains(err.Error(), "refused") {
				return
			}
			continue
		}
		_, _ = resp.Body.Read(make([]byte, 4096))
		resp.Body.Close()
	}
}

// The pauses of a connection do not delay Close, which in a bubble would hang: a
// handler that ends meanwhile waits for the mutex of http.Server.
func TestCloseDoesNotTrickle(t *testing.T) {
	for _, tls := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			srv, err := apitest.Start(apitest.Options{InMemory: true, TLS: tls})
			if err != nil {
				t.Fatal(err)
			}
			srv.On(apitest.Match{Verb: "watch"}, faults.Trickle(7, time.Second))
			resp, err := send(t.Context(), srv, "GET", configMaps+"?watch=1", "")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			time.Sleep(time.Minute) // the connection is idle
			start := time.Now()
			srv.Close()
			if d := time.Since(start); d != 0 {
				t.Errorf("TLS %v: Close took %v", tls, d)
			}
		})
	}
}
