package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// TestBodiesThatWaitHoldUpNobody: an API server sends all its requests over one connection
// of HTTP/2. Bodies that wait for the budget leave room on it for those that have theirs.
func TestBodiesThatWaitHoldUpNobody(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := mustIssue(t, time.Now(), time.Hour, host)
		for name, b := range map[string][]byte{"tls.crt": p.certPEM, "tls.key": p.keyPEM} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := New(nil, Options{Name: "hooks", Service: secretKey, CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")})
		if err != nil {
			t.Fatal(err)
		}
		Validate(s, widgets, Rule{}, func(context.Context, *Request[kube.Partial]) error { return nil })
		s.budget = newBudget(1 << 20)
		l := newPipes()
		s.listen = func() (net.Listener, error) { return l, nil }
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			l.conns <- theirs
			return ours, nil
		}
		body := widgetReview + strings.Repeat(" ", 512<<10)
		send := func(body string) {
			r, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+host+"/validate/validate.widgets.example.com?timeout=10s", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
				t.Errorf("%s by %s", resp.Status, resp.Proto)
			}
		}
		began := time.Now()
		send(widgetReview)
		var all sync.WaitGroup
		for range maxStreams - 1 {
			all.Go(func() { send(body) })
		}
		all.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("they waited for %v", took)
		}
		transport.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestAnswersThatNobodyTakesEnd: a client that takes no answer, or whose host is frozen,
// does not hold its body for ever: others would get no room.
func TestAnswersThatNobodyTakesEnd(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ http2, frozen bool }{"HTTP/1.1": {}, "HTTP/2": {http2: true}, "HTTP/2 frozen": {true, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := mustIssue(t, time.Now(), time.Hour, host)
				for name, b := range map[string][]byte{"tls.crt": p.certPEM, "tls.key": p.keyPEM} {
					if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				s, err := New(nil, Options{Name: "hooks", Service: secretKey, CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")})
				if err != nil {
					t.Fatal(err)
				}
				var frozen atomic.Bool
				s.add(&hook{kind: convert, name: "large", path: "/large", limit: 1 << 20, handle: func(context.Context, []byte) (any, outcome, error) {
					frozen.Store(c.frozen)
					return strings.Repeat("x", 8<<20), outcome{}, nil
				}})
				l := newPipes()
				s.listen = func() (net.Listener, error) { return l, nil }
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- s.Run(ctx) }()
				synctest.Wait()
				transport := &http.Transport{ForceAttemptHTTP2: c.http2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				thawed := make(chan struct{})
				transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					l.conns <- theirs
					return &frozenConn{ours, &frozen, thawed}, nil
				}
				asking, leave := context.WithCancel(t.Context())
				go func() {
					r, err := http.NewRequestWithContext(asking, "POST", "https://"+host+"/large", strings.NewReader("{}"))
					if err != nil {
						t.Error(err)
						return
					}
					r.Header.Set("Content-Type", "application/json")
					if resp, err := transport.RoundTrip(r); err == nil {
						<-asking.Done()
						resp.Body.Close()
					}
				}()
				<-time.After(2 * time.Minute)
				synctest.Wait()
				if n := s.Stats().InFlight; n > 0 || s.budget.left != maxTogether {
					t.Errorf("%d requests are answered, with %d bytes", n, maxTogether-s.budget.left)
				}
				close(thawed)
				leave()
				transport.CloseIdleConnections()
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// frozenConn is a connection of a client that does not read while it is frozen.
type frozenConn struct {
	net.Conn
	frozen *atomic.Bool
	thawed chan struct{}
}

func (c *frozenConn) Read(b []byte) (int, error) {
	if c.frozen.Load() {
		<-c.thawed
	}
	return c.Conn.Read(b)
}

// TestLargeObjectsAreDecodedInTurn: a small body can be a large object, and what functions have at
// a time is limited. Small ones go on.
func TestLargeObjectsAreDecodedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(nil, Options{Name: "hooks", Service: secretKey, CertFile: "x", KeyFile: "y"})
		if err != nil {
			t.Fatal(err)
		}
		large := strings.Replace(widgetReview, `"request":{`, `"request":{"options":{"a":[`+strings.Repeat("1,", 2<<20)+`1]},`, 1)
		if large == widgetReview || weight([]byte(large)) != maxDecoded*3/4 {
			t.Fatal("not large")
		}
		end, running := make(chan struct{}), atomic.Int32{}
		Validate(s, widgets, Rule{}, func(_ context.Context, r *Request[kube.Partial]) error {
			running.Add(1)
			<-end
			return nil
		})
		h, codes := s.Handler(), make(chan int, 9)
		send := func(body, query string) {
			r := httptest.NewRequest("POST", "/validate/validate.widgets.example.com"+query, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			codes <- w.Code
		}
		go send(large, "?timeout=9s")
		synctest.Wait()
		go send(large, "?timeout=9s")
		go send(large, "?timeout=1s")
		go send(widgetReview, "")
		synctest.Wait()
		if n := running.Load(); n != 2 {
			t.Errorf("%d functions run, want that of a large one and that of the small one", n)
		}
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Error(code)
		}
		close(end)
		for range 3 {
			if code := <-codes; code != http.StatusOK {
				t.Error(code)
			}
		}
		if s.decoded.left != maxDecoded {
			t.Errorf("%d left", s.decoded.left)
		}
	})
}
