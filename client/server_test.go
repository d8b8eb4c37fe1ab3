package client_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
)

// newClient returns a client and closes its connections when the test is over.
func newClient(t testing.TB, cfg client.Config) *client.Client {
	t.Helper()
	cfg.PlainHTTP = true // most servers of these tests speak http
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// newServer returns the URL of a server on a real socket.
func newServer(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// do sends r and returns the whole body.
func do(ctx context.Context, c *client.Client, r *client.Request) (string, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// network is a network in memory with one server on it: waiting for it is
// durably blocking, as a synctest bubble needs it.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (n *network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// newMemoryClient returns a client of a server in memory. Both end with the
// test: a goroutine of theirs that does not fails the bubble.
func newMemoryClient(t *testing.T, cfg client.Config, h http.HandlerFunc) *client.Client {
	t.Helper()
	n := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(n)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	cfg.Server, cfg.Dial = "http://memory.test", n.Dial
	return newClient(t, cfg)
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// silence answers nothing until the client leaves.
func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// say writes s and sends it off.
func say(w http.ResponseWriter, s string) {
	_, _ = io.WriteString(w, s)
	_ = http.NewResponseController(w).Flush()
}
