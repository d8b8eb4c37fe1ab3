package guard

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	headerTime = 10 * time.Second // for the headers of a request, from its first byte
	bodyTime   = 30 * time.Second // for each piece of a body
	idleTime   = 2 * time.Minute  // of a connection without a request
	headerSize = 128 << 10        // bytes
)

// Connections is how many a listener has open at once, unless another number is given.
const Connections = 1000

// Server returns a server with the limits of time and size. Requests end with ctx, and
// when their client leaves.
func Server(ctx context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerSize,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: ConnContext,
	}
}

// Listen returns l with at most max connections open at once; others wait. max 0 means
// [Connections].
func Listen(l net.Listener, max int) net.Listener {
	if max <= 0 {
		max = Connections
	}
	return &listener{Listener: l, free: make(chan struct{}, max), done: make(chan struct{})}
}

// Share is like [Listen], but one IP address has at most half of the connections: more of
// it are closed at once. It is for listeners that many hosts reach, of which one must not
// take the place of all others. The connections of a proxy are those of one address.
func Share(l net.Listener, max int) net.Listener {
	shared := Listen(l, max).(*listener)
	shared.each, shared.of = cap(shared.free)/2, make(map[netip.Addr]int)
	return shared
}

type listener struct {
	net.Listener
	free chan struct{}
	done chan struct{}
	once sync.Once

	each int // connections of one address; 0 = any number
	mu   sync.Mutex
	of   map[netip.Addr]int
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.accept()
		if err != nil {
			return nil, err
		}
		free, ok := l.enter(c.RemoteAddr())
		if ok {
			return newConn(c, sync.OnceFunc(func() { free(); <-l.free })), nil
		}
		_ = c.Close()
		<-l.free
	}
}

// enter counts a connection of an address; ok is false if that has as many as it may.
func (l *listener) enter(remote net.Addr) (leave func(), ok bool) {
	if l.each == 0 {
		return func() {}, true
	}
	var at netip.Addr // that of all whose address is no IP address
	if tcp, ok := remote.(*net.TCPAddr); ok {
		at = tcp.AddrPort().Addr().Unmap()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[at] >= l.each {
		return nil, false
	}
	l.of[at]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.of[at]--; l.of[at] == 0 {
			delete(l.of, at)
		}
	}, true
}

// accept returns a connection that has its place.
func (l *listener) accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.done: // Accept says how it is closed
		return l.Listener.Accept()
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return c, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// limitBody limits the time between two pieces of the body of r. Where the body ends,
// net/http lifts the deadline: the answer may take longer.
func limitBody(w http.ResponseWriter, r *http.Request) *http.Request {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &slowBody{r.Body, http.NewResponseController(w)}
	}
	return r
}

type slowBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(bodyTime)) // fails for a writer without a connection only
	return b.ReadCloser.Read(p)
}
