package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

// A gate is a server over TLS in memory that knows clients by their certificates
// and tokens. It writes down who came.
type gate struct {
	t     *testing.T
	net   *network
	serve http.HandlerFunc // instead of an answer to those who may come in

	mu      sync.Mutex
	tls     *tls.Config // of new connections
	refused map[string]bool
	seen    []string
	dials   int
}

// newGate returns a gate whose certificate is of ca, and which takes clients of ca.
func newGate(t *testing.T, ca *authority) *gate {
	g := &gate{t: t, net: &network{conns: make(chan net.Conn), done: make(chan struct{})}, refused: make(map[string]bool)}
	g.trust(ca, ca)
	srv := &http.Server{Handler: g, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			g.mu.Lock()
			defer g.mu.Unlock()
			return g.tls, nil
		},
		Certificates: g.tls.Certificates,
	}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.ServeTLS(g.net, "", "")
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-ended
	})
	return g
}

// trust gives the server a certificate of own and lets in clients of those.
func (g *gate) trust(own, clients *authority) {
	g.t.Helper()
	pair, err := tls.X509KeyPair(own.issue(g.t, "server"))
	if err != nil {
		g.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tls = &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven,
		NextProtos: []string{"h2", "http/1.1"}, SessionTicketsDisabled: true,
	}
}

// refuse answers 401 to a name from now on.
func (g *gate) refuse(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused[name] = true
}

// ServeHTTP answers who came: a name, and a token where there is one.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := "nobody"
	if len(r.TLS.PeerCertificates) > 0 {
		name = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	if a := r.Header.Get("Authorization"); a != "" {
		name += " " + a
	}
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.seen = append(g.seen, name+string(body))
	refused := g.refused[name]
	g.mu.Unlock()
	switch {
	case refused:
		w.WriteHeader(http.StatusUnauthorized)
	case g.serve != nil:
		g.serve(w, r)
	default:
		_, _ = io.WriteString(w, name)
	}
}

func (g *gate) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	g.mu.Lock()
	g.dials++
	g.mu.Unlock()
	ours, theirs := newLoose()
	select {
	case g.net.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loose is a side of a pipe whose writers do not wait: a side that breaks off a
// handshake does not read what the other is still writing.
type loose struct {
	net.Conn
	peer *loose

	mu      *sync.Mutex // of both sides
	changed *sync.Cond
	waiting []byte
	closed  bool
	gone    bool // the other side is
}

func newLoose() (a, b *loose) {
	left, right := net.Pipe()
	mu := new(sync.Mutex)
	a = &loose{Conn: left, mu: mu, changed: sync.NewCond(mu)}
	b = &loose{Conn: right, mu: mu, changed: sync.NewCond(mu), peer: a}
	a.peer = b
	go a.pump()
	go b.pump()
	return a, b
}

func (l *loose) pump() {
	defer l.Conn.Close()
	for {
		l.mu.Lock()
		for len(l.waiting) == 0 && !l.closed {
			l.changed.Wait()
		}
		b := l.waiting
		l.waiting = nil
		l.mu.Unlock()
		if len(b) == 0 {
			return
		}
		if _, err := l.Conn.Write(b); err != nil { // the other side has left
			l.mu.Lock()
			l.gone = true
			l.mu.Unlock()
			return
		}
	}
}

func (l *loose) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return 0, net.ErrClosed
	case l.gone:
		return 0, syscall.EPIPE
	}
	l.waiting = append(l.waiting, b...)
	l.changed.Signal()
	return len(b), nil
}

func (l *loose) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Signal()
	if l.peer.closed { // nobody reads what waits
		l.Conn.Close()
		l.peer.Conn.Close()
	}
	return l.Conn.SetReadDeadline(time.Unix(1, 0))
}

func (l *loose) SetWriteDeadline(time.Time) error { return nil }

// client returns a client of g.
func (g *gate) client(cfg client.Config) *client.Client {
	g.t.Helper()
	cfg.Server, cfg.Dial, cfg.TLS.ServerName = "https://memory.test", g.Dial, "server.test"
	return newClient(g.t, cfg)
}

// check compares who came since the last check, and how many connections were made.
func (g *gate) check(dials int, seen ...string) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if diff := cmp.Diff(seen, g.seen); diff != "" {
		g.t.Errorf("who came (-want +got):\n%s", diff)
	}
	if g.dials != dials {
		g.t.Errorf("%d connections, want %d", g.dials, dials)
	}
	g.seen, g.dials = nil, 0
}

// A mount is a directory as kubelet mounts a secret: the files are links to ..data,
// a link itself, that is swapped.
type mount struct {
	t   testing.TB
	dir string
	n   int
}

func newMount(t testing.TB) *mount { return &mount{t: t, dir: t.TempDir()} }

func (m *mount) path(name string) string { return filepath.Join(m.dir, name) }

// put replaces all files at once.
func (m *mount) put(files map[string][]byte) {
	m.t.Helper()
	check := func(err error) {
		m.t.Helper()
		if err != nil {
			m.t.Fatal(err)
		}
	}
	m.n++
	version := fmt.Sprint("..", m.n)
	check(os.Mkdir(m.path(version), 0o700))
	for name, b := range files {
		check(os.WriteFile(filepath.Join(m.dir, version, name), b, 0o600))
		if m.n == 1 {
			check(os.Symlink(filepath.Join("..data", name), m.path(name)))
		}
	}
	check(os.Symlink(version, m.path("..new")))
	check(os.Rename(m.path("..new"), m.path("..data")))
}

// identity puts a certificate of that name, and what clients trust.
func (m *mount) identity(ca *authority, name string, trusted *authority) {
	m.t.Helper()
	cert, key := ca.issue(m.t, name)
	m.put(map[string][]byte{"ca": trusted.pem, "cert": cert, "key": key})
}

func (m *mount) tls() client.TLS {
	return client.TLS{CAFile: m.path("ca"), CertFile: m.path("cert"), KeyFile: m.path("key")}
}

// onBoth runs a test in virtual time over HTTP/2 and HTTP/1.1.
func onBoth(t *testing.T, f func(t *testing.T, plain bool)) {
	for _, plain := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP2", true: "HTTP1"}[plain], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, plain) })
		})
	}
}

// get asks c for / and returns the answer, or the error.
func get(t *testing.T, c *client.Client) string {
	t.Helper()
	got, err := do(t.Context(), c, &client.Request{Path: "/"})
	if err != nil {
		return err.Error()
	}
	return got
}
