package guard

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

const (
	aheadAfter = time.Second // without a read by the server, while a request is answered
	aheadMost  = 64 << 10    // bytes that are read ahead
)

// conn is a connection of a listener. It gives its place back when it is closed.
//
// net/http notices that a client has left by one byte that it reads while a request is
// answered. Where that byte comes, as of a further request, it does not read on. So conn
// reads ahead then, and ends the requests of a client that has left.
type conn struct {
	net.Conn
	release func()
	timer   *time.Timer // to ahead

	mu        sync.Mutex
	leave     context.CancelFunc // ends the requests; nil = nobody asked for it
	answering bool
	reading   bool          // the server is
	pump      chan struct{} // closed when ahead returns; nil = it does not run
	buf       []byte        // what was read ahead
	err       error         // what came behind it
	deadline  time.Time     // of reads, as the server set it
}

func newConn(c net.Conn, release func()) *conn {
	n := &conn{Conn: c, release: release}
	n.timer = time.AfterFunc(time.Hour, n.ahead)
	n.timer.Stop()
	return n
}

type connKey struct{}

// ConnContext is for http.Server: by it, requests over connections of [Listen] end when
// the client leaves, also one that has sent more than its request. c may be around such
// a connection and have a method NetConn, as that of crypto/tls.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	for {
		if n, ok := c.(*conn); ok {
			ctx, cancel := context.WithCancel(ctx)
			n.mu.Lock()
			n.leave = cancel
			n.mu.Unlock()
			return context.WithValue(ctx, connKey{}, n)
		}
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return ctx
		}
		c = outer.NetConn()
	}
}

// answer says that a request is answered from now on, until done is called.
func (c *conn) answer() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering = true
	c.await()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.answering = false
		c.timer.Stop()
	}
}

// await lets ahead run where the server does not read. The caller holds mu.
func (c *conn) await() {
	if c.answering && !c.reading && c.err == nil && len(c.buf) < aheadMost {
		c.timer.Reset(aheadAfter)
	}
}

// ahead reads until the server does, or the client has left.
func (c *conn) ahead() {
	c.mu.Lock()
	if !c.answering || c.reading || c.pump != nil {
		c.mu.Unlock()
		return
	}
	c.pump = make(chan struct{})
	c.mu.Unlock()
	b := make([]byte, 1<<10)
	for more := true; more; {
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		c.buf = append(c.buf, b[:n]...)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.err = err
			c.leave()
		}
		if more = err == nil && !c.reading && len(c.buf) < aheadMost; !more {
			close(c.pump)
			c.pump = nil
		}
		c.mu.Unlock()
	}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	c.reading = true
	c.timer.Stop()
	if pump := c.pump; pump != nil {
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // ends it
		c.mu.Unlock()
		<-pump
		c.mu.Lock()
		_ = c.Conn.SetReadDeadline(c.deadline)
	}
	defer func() {
		c.reading = false
		c.await()
		c.mu.Unlock()
	}()
	if len(c.buf) > 0 {
		n := copy(b, c.buf)
		if c.buf = c.buf[n:]; len(c.buf) == 0 {
			c.buf = nil
		}
		return n, nil
	}
	if c.err != nil {
		return 0, c.err
	}
	c.mu.Unlock()
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	return n, err
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if c.reading && c.pump != nil {
		return nil // Read sets it
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.Conn.SetWriteDeadline(t))
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	if c.timer.Stop(); c.leave != nil {
		c.leave()
	}
	c.mu.Unlock()
	c.release()
	return err
}

// SetLinger is that of a TCP connection; others have none.
func (c *conn) SetLinger(seconds int) error {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		return tcp.SetLinger(seconds)
	}
	return nil
}
