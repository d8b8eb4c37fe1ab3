package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/kube"
)

const widgetReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE","name":"a","resource":{"group":"example.com","version":"v1","resource":"widgets"},"object":{"metadata":{"name":"a"}}}}`

// pipes is a listener of connections that dial makes.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns a connection over TLS, or the error of the handshake.
func (l *pipes) dial(t *testing.T, config *tls.Config) (*tls.Conn, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	l.conns <- theirs
	c := tls.Client(ours, config)
	if err := c.HandshakeContext(t.Context()); err != nil {
		ours.Close()
		return nil, err
	}
	return c, nil
}

// ask sends a review over a connection.
func ask(t *testing.T, c net.Conn) (*http.Response, string) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "POST /validate/validate.widgets.example.com HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, len(widgetReview), widgetReview); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestServesByFilesAndDrains: over TLS, by the newest files. After it was stopped it
// answers for Drain, new connections too; a connection ends with its next response, and
// not while it is idle.
func TestServesByFilesAndDrains(t *testing.T) {
	dir := t.TempDir()
	write := func(p *pair) {
		t.Helper()
		for name, b := range map[string][]byte{"tls.crt": p.certPEM, "tls.key": p.keyPEM} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		first, second := mustIssue(t, time.Now(), time.Hour, host), mustIssue(t, time.Now(), time.Hour, host)
		write(first)
		s, err := New(nil, Options{Name: "hooks", Service: secretKey, CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")})
		if err != nil {
			t.Fatal(err)
		}
		l := newPipes()
		s.listen = func() (net.Listener, error) { return l, nil }
		Validate(s, widgets, Rule{}, func(context.Context, *Request[kube.Partial]) error { return nil })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		if err := s.Ready(); err != nil {
			t.Fatal(err)
		}
		trust := func(p *pair) *tls.Config {
			pool := x509.NewCertPool()
			pool.AddCert(p.ca)
			return &tls.Config{RootCAs: pool, ServerName: host, Time: time.Now}
		}
		idle, err := l.dial(t, trust(first))
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
		if resp, body := ask(t, idle); resp.StatusCode != 200 || resp.Close || !strings.Contains(body, `"allowed":true`) {
			t.Errorf("got %d %s, close %v", resp.StatusCode, body, resp.Close)
		}
		write(second)
		<-time.After(61 * time.Second)
		synctest.Wait()
		if _, err := l.dial(t, trust(first)); err == nil {
			t.Error("the former files are served")
		}
		began := time.Now()
		stop()
		<-time.After(14 * time.Second)
		synctest.Wait()
		fresh, err := l.dial(t, trust(second))
		if err != nil {
			t.Fatalf("a new connection while it drains: %v", err)
		}
		defer fresh.Close()
		for _, c := range []net.Conn{fresh, idle} {
			if resp, _ := ask(t, c); resp.StatusCode != 200 || !resp.Close {
				t.Errorf("while it drains: %d, close %v", resp.StatusCode, resp.Close)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 15*time.Second || took > 26*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}

// stalled is a body of which so many bytes come, and then nothing until the request ends.
type stalled struct {
	sent  io.Reader
	ended <-chan struct{}
}

func (b stalled) Read(p []byte) (int, error) {
	if n, err := b.sent.Read(p); err == nil {
		return n, nil
	}
	<-b.ended
	return 0, io.ErrUnexpectedEOF
}

// TestBodiesThatDoNotComeHoldUpNobody: a client that only says how large its body is, or
// does not say it, takes nothing of what others need.
func TestBodiesThatDoNotComeHoldUpNobody(t *testing.T) {
	for name, length := range map[string]int64{"with a length": maxConversion, "without a length": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(nil, Options{Name: "hooks", Service: secretKey, CertFile: "x", KeyFile: "y"})
				if err != nil {
					t.Fatal(err)
				}
				h := &hook{name: "convert", limit: maxConversion, handle: func(context.Context, []byte) (any, outcome, error) { return nil, outcome{}, nil }}
				send := func(body io.Reader, length int64) (code int) {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/convert", body)
					r.ContentLength = length
					r.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					s.answer(h, w, r)
					return w.Code
				}
				ended := make(chan struct{})
				var all sync.WaitGroup
				const clients = 2 * maxTogether / maxConversion
				for range clients {
					all.Go(func() {
						if code := send(stalled{strings.NewReader("{"), ended}, length); code != http.StatusBadRequest {
							t.Errorf("a body that ends early: %d", code)
						}
					})
				}
				synctest.Wait()
				began := time.Now()
				if code := send(strings.NewReader(widgetReview), int64(len(widgetReview))); code != http.StatusOK || time.Since(began) > 0 {
					t.Errorf("another request: %d after %v", code, time.Since(began))
				}
				if held := maxTogether - s.budget.left; held > clients*firstPiece {
					t.Errorf("%d bytes are held for %d that came", held, clients)
				}
				close(ended)
				all.Wait()
				if s.budget.left != maxTogether {
					t.Errorf("%d left", s.budget.left)
				}
			})
		})
	}
}

// TestStreamsAreLimited: with connections without requests that end, they bound the memory.
func TestStreamsAreLimited(t *testing.T) {
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
		l := newPipes()
		s.listen = func() (net.Listener, error) { return l, nil }
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		c, err := l.dial(t, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		go io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil || head[3] != 4 {
			t.Fatalf("no SETTINGS: %v, %v", head, err)
		}
		settings := make([]byte, int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, settings); err != nil {
			t.Fatal(err)
		}
		if want := string([]byte{0, 3, 0, 0, 0, 50}); !strings.Contains(string(settings), want) {
			t.Errorf("MAX_CONCURRENT_STREAMS is not 50: % x", settings)
		}
		c.Close()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestBudgetIsForAllBodies: a request waits until others have ended, or until its time is
// over. Of requests that wait for each other, one goes on.
func TestBudgetIsForAllBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		first, second, third := share{of: b}, share{of: b}, share{of: b}
		if !first.take(t.Context(), 7) {
			t.Fatal("refused")
		}
		soon := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return ctx
		}
		if second.take(soon(), 4) {
			t.Error("more than the budget is taken")
		}
		if !second.take(t.Context(), 3) || !second.take(soon(), 9) || b.left != 0 {
			t.Errorf("no request goes on: %d left", b.left)
		}
		if first.take(soon(), 1) || third.take(soon(), 1) {
			t.Error("more than one request takes more than is left")
		}
		time.AfterFunc(time.Second, second.release)
		if !first.take(t.Context(), 3) || b.left != 0 {
			t.Errorf("%d left", b.left)
		}
		if !first.take(soon(), 5) {
			t.Error("no other request goes on")
		}
		first.release()
		if b.left != 10 || !third.take(t.Context(), 10) || b.left != 0 {
			t.Errorf("%d left", b.left)
		}
	})
}
