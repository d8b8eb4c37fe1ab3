package lease_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// weather is what a link does to bytes.
type weather int

const (
	fair    weather = iota
	severed         // connections are reset, new ones refused
	mute            // what the replica sends is lost
	deaf            // what the server sends is lost
	late            // what the replica sends arrives, after link.delay, even if it has given up
)

var errSevered = errors.New("the link is severed")

// link is the network between one replica and the server.
type link struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	delay time.Duration

	mu    sync.Mutex
	now   weather
	conns map[*linkConn]bool
	dials int
}

func (l *link) set(w weather) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = w
	if w == severed {
		for c := range l.conns {
			go c.Close()
		}
	}
}

// freeze loses everything on the connections that exist, and nothing on new ones.
func (l *link) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.dead = true
	}
}

func (l *link) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	l.dials++
	refused := l.now == severed
	l.mu.Unlock()
	if refused {
		return nil, errSevered
	}
	inner, err := l.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: inner, link: l, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = make(map[*linkConn]bool)
	}
	l.conns[c] = true
	return c, nil
}

// linkConn is one connection over a link. Bytes that were lost leave it dead.
type linkConn struct {
	net.Conn
	link   *link
	once   sync.Once
	closed chan struct{}

	dead bool // guarded by link.mu
}

func (c *linkConn) weather() weather {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.dead {
		return mute
	}
	c.dead = c.link.now == mute || c.link.now == deaf
	return c.link.now
}

func (c *linkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if w := c.weather(); w == mute || w == deaf {
		<-c.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *linkConn) Write(p []byte) (int, error) {
	switch c.weather() {
	case severed:
		return 0, errSevered
	case mute:
		return len(p), nil
	case late:
		b, inner := append([]byte(nil), p...), c.Conn
		go func() {
			pass(c.link.delay)
			_, _ = inner.Write(b)
		}()
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *linkConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.link.mu.Lock()
		delete(c.link.conns, c)
		w := c.link.now
		c.link.mu.Unlock()
		if w != late {
			c.Conn.Close()
			return
		}
		go func() { // what is under way arrives
			pass(2 * c.link.delay)
			c.Conn.Close()
		}()
	})
	return nil
}
