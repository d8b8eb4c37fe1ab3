package guard

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
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

type listener struct {
	net.Listener
	free chan struct{}
	done chan struct{}
	once sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
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
	return newConn(c, sync.OnceFunc(func() { <-l.free })), nil
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
