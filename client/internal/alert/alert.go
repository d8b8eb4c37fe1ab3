// Package alert finds the TLS alert with which a server ended a connection.
package alert

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

// With TLS 1.3 a server checks our certificate after our side of the handshake has
// ended. If it refuses it, it sends an alert and closes the connection, to which the
// client is already writing. Over HTTP/2 net/http then often returns the error of the
// failed write, or of a connection that ended before it had a request, instead of the
// alert:
//
//	client                          server
//	certificate, end of handshake
//	                                alert, close
//	preface, settings: broken pipe
//	                                (the alert has arrived and is not read)
//
// Therefore a write does not fail when the peer has closed the connection, and if a
// connection ended too early, the last error of its reader is read again.

// closing is a connection that reports a closed peer to its reader only: the reader
// first gets what the peer sent before.
type closing struct {
	net.Conn
	over atomic.Bool // closed on our side
}

// Close marks the connection as closed on our side.
func (l *closing) Close() error {
	l.over.Store(true)
	return l.Conn.Close()
}

// Write reports success if the peer has closed the connection, as it would have a
// moment earlier.
func (l *closing) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(b), nil
	}
	return n, err
}

// Listen returns dial for connections whose alerts Ref finds.
func Listen(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &closing{Conn: conn}, nil
	}
}

// Ref refers to the connection that a request was given last.
type Ref struct{ conn atomic.Pointer[tls.Conn] }

// Watch returns ctx for a request whose connection is noted.
func (l *Ref) Watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if c, ok := i.Conn.(*tls.Conn); ok {
			l.conn.Store(c)
		}
	}})
}

// Reason returns the alert with which the server ended the connection, if err is a
// consequence of it; nil = none.
func (l *Ref) Reason(err error) error {
	text := err.Error()
	c := l.conn.Load()
	if c != nil && (strings.HasSuffix(text, "http2: client conn could not be established") || errors.Is(err, net.ErrClosed) && over(c)) {
		// Read returns at once, with the error that ended the connection.
		if _, why := c.Read(make([]byte, 1)); alertOf(why) != nil {
			return alertOf(why)
		}
	}
	if a := alertOf(err); a != nil && strings.Contains(text, "readLoopPeekFailLocked: ") { // from the read loop of net/http
		return a
	}
	return nil
}

// over reports whether the connection below c was closed on our side: no other request
// reads it.
func over(c *tls.Conn) bool {
	for {
		switch below := c.NetConn().(type) {
		case *tls.Conn: // below a proxy
			c = below
		case *closing:
			return below.over.Load()
		default:
			return false
		}
	}
}

// alertOf returns the alert of a server in err; nil = none.
func alertOf(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return op
	}
	return nil
}
