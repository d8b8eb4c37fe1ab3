package guard_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/internal/guard"
)

// pipes is a listener in memory.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

// serve serves h behind the guard, in virtual time.
func serve(t *testing.T, connections int, h http.HandlerFunc) *pipes {
	t.Helper()
	p := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
	srv := guard.Server(t.Context(), guard.Handler(h, guard.Options{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(guard.Listen(p, connections))
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return p
}

// dial returns the client's end, once the server has accepted.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	p.dialed <- theirs
	t.Cleanup(func() { ours.Close() })
	return ours
}

// life says how long c is open, if nothing more is sent.
func life(c net.Conn) time.Duration {
	began := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(began)
}

// TestSlowPeersAreCut: in headers, in a body, between requests.
func TestSlowPeersAreCut(t *testing.T) {
	for name, test := range map[string]struct {
		sent string
		want time.Duration
	}{
		"no request":      {"", 10 * time.Second},
		"slow headers":    {"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", 10 * time.Second},
		"slow body":       {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", 30 * time.Second},
		"after a request": {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						panic(http.ErrAbortHandler)
					}
				})
				c := p.dial(t)
				go io.WriteString(c, test.sent)
				if got := life(c); got < test.want || got > test.want+time.Second {
					t.Errorf("the connection lives %v, want %v", got, test.want)
				}
			})
		})
	}
}

// TestWatchesLiveOn: no limit ends an answer, also one to a request with a body.
func TestWatchesLiveOn(t *testing.T) {
	for name, request := range map[string]string{
		"GET":  "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST": "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					for range 24 {
						select {
						case <-time.After(time.Hour):
						case <-r.Context().Done():
							return
						}
						_, _ = io.WriteString(w, "event\n")
						_ = http.NewResponseController(w).Flush()
					}
				})
				c := p.dial(t)
				go io.WriteString(c, request)
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if n := strings.Count(string(b), "event"); n != 24 || err != nil {
					t.Errorf("%d events, %v, want 24", n, err)
				}
			})
		})
	}
}

// TestConnectionsAreLimited: one more waits until another ends.
func TestConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, 2, func(http.ResponseWriter, *http.Request) {})
		first := p.dial(t)
		p.dial(t)
		ours, theirs := net.Pipe()
		defer ours.Close()
		select {
		case p.dialed <- theirs:
			t.Fatal("a third connection was accepted")
		case <-time.After(5 * time.Second):
		}
		first.Close()
		select {
		case p.dialed <- theirs:
		case <-time.After(time.Second):
			t.Fatal("no connection was accepted after one ended")
		}
	})
}

// TestListenerCloses: also while all places are taken.
func TestListenerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{dialed: make(chan net.Conn, 1), closed: make(chan struct{})}
		l := guard.Listen(p, 1)
		ours, theirs := net.Pipe()
		p.dialed <- theirs
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
		c.Close()
		c.Close() // gives its place back once
		ours.Close()
	})
}
