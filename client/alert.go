package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
)

// Under TLS 1.3 a server judges our certificate, or misses it, when our side of the
// handshake is over. It says so in an alert and closes the connection, to which we are
// writing already. Over HTTP/2 net/http then often tells of the write that failed, or
// of a connection that ended before it had a request, and not why:
//
//	client                          server
//	certificate, end of handshake
//	                                alert, close
//	preface, settings: broken pipe
//	                                (the alert is there, and nobody reads it)
//
// So writes do not fail where the peer is gone, and of a connection that ended too soon
// the last that was read is asked for.

// listening is a connection whose reader is the one to tell that the peer is gone: it
// reads first what the peer has said before.
type listening struct {
	net.Conn
	over atomic.Bool // it was closed on our side
}

// Close notes that nobody reads any more.
func (l *listening) Close() error {
	l.over.Store(true)
	return l.Conn.Close()
}

// Write takes b for written, as a moment earlier it would have been, if the peer is gone.
func (l *listening) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(b), nil
	}
	return n, err
}

func listen(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &listening{Conn: conn}, nil
	}
}

// line is the connection that a request was given last.
type line struct{ conn atomic.Pointer[tls.Conn] }

func (l *line) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if c, ok := i.Conn.(*tls.Conn); ok {
			l.conn.Store(c)
		}
	}})
}

// reason returns the alert by which the server ended the connection, if err is what
// became of it, and else err.
func (l *line) reason(err error) error {
	text := err.Error()
	c := l.conn.Load()
	if c != nil && (strings.HasSuffix(text, "http2: client conn could not be established") || errors.Is(err, net.ErrClosed) && over(c)) {
		// This returns at once, and what ended it.
		if _, why := c.Read(make([]byte, 1)); alertOf(why) != nil {
			return keepProxy(err, alertOf(why))
		}
	}
	if a := alertOf(err); a != nil && strings.Contains(text, "readLoopPeekFailLocked: ") { // where net/http met it
		return keepProxy(err, a)
	}
	return err
}

// over reports whether the connection below c was closed: no other request reads it.
func over(c *tls.Conn) bool {
	for {
		switch below := c.NetConn().(type) {
		case *tls.Conn: // with a proxy
			c = below
		case *listening:
			return below.over.Load()
		default:
			return false
		}
	}
}

// alertOf returns the alert of a server in err, nil if there is none.
func alertOf(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return op
	}
	return nil
}
