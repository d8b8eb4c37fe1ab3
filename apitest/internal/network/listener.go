package network

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/internal/guard"
)

// State is the handling of new connections.
type State int

const (
	Open      State = iota // served
	Refusing               // refused, as if nothing listens
	Hanging                // accepted without a response
	Resetting              // accepted and reset at once
	Untrusted              // served; the caller chooses the certificate
	Outdated               // served; the caller chooses the certificate
	HTTP1                  // served; the caller chooses the protocol
)

// maxConnections limits open connections over TCP; a thousand watches over HTTP/1.1
// fit.
const maxConnections = 10_000

// Listener is the server's net.Listener: over TCP, or only in memory.
type Listener struct {
	accepted chan net.Conn
	closed   chan struct{}
	ctx      context.Context // ends with the door
	cancel   context.CancelFunc
	loops    sync.WaitGroup

	mu    sync.Mutex
	state State
	addr  net.Addr
	tcp   net.Listener // nil in memory, and while it refuses
	held  *held        // the port while it refuses
	conns map[*Conn]struct{}
}

func Listen(memory bool, address string) (*Listener, error) {
	d := &Listener{accepted: make(chan net.Conn), closed: make(chan struct{}), addr: memoryAddr{}, conns: make(map[*Conn]struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if memory {
		return d, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		d.cancel()
		return nil, err
	}
	d.addr = l.Addr()
	d.serve(l)
	return d, nil
}

// serve accepts from l until it is closed. The caller holds mu or is Listen.
func (d *Listener) serve(l net.Listener) {
	l = guard.Listen(l, maxConnections)
	d.tcp = l
	d.loops.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if err := d.knock(d.ctx, c); err != nil {
				c.Close()
			}
		}
	})
}

// knock passes a new connection to the server, or handles it as state says.
func (d *Listener) knock(ctx context.Context, raw net.Conn) error {
	c := &Conn{Conn: raw, listener: d, closed: make(chan struct{})}
	d.mu.Lock()
	state := d.state
	c.Came = state
	if state != Refusing && d.ctx.Err() == nil {
		d.conns[c] = struct{}{}
	}
	d.mu.Unlock()
	switch {
	case state == Refusing || d.ctx.Err() != nil:
		return os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case state == Hanging:
		return nil
	case state == Resetting:
		c.Reset()
		return nil
	}
	select {
	case d.accepted <- c:
		return nil
	case <-ctx.Done():
		c.Close()
		return ctx.Err()
	case <-d.closed:
		c.Close()
		return os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
}

// Set changes the state; existing connections stay.
func (d *Listener) Set(state State) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = state
	if _, memory := d.addr.(memoryAddr); memory {
		return nil
	}
	switch {
	case d.ctx.Err() != nil:
	case state == Refusing && d.tcp != nil:
		d.tcp.Close()
		d.tcp = nil
		h, err := hold(d.addr.(*net.TCPAddr))
		if err != nil {
			return err
		}
		d.held = h
	case state != Refusing && d.tcp == nil:
		listen := func() (net.Listener, error) { return net.Listen("tcp", d.addr.String()) }
		if d.held != nil {
			listen = d.held.Listen
		}
		l, err := listen()
		d.held = nil
		if err != nil {
			return err
		}
		d.serve(l)
	}
	return nil
}

// Cut resets every connection.
func (d *Listener) Cut() {
	d.mu.Lock()
	conns := make([]*Conn, 0, len(d.conns))
	for c := range d.conns {
		conns = append(conns, c)
	}
	d.mu.Unlock()
	for _, c := range conns {
		c.Reset()
	}
}

// Accept implements net.Listener.
func (d *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-d.accepted:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It also ends connections that hang.
func (d *Listener) Close() error {
	d.mu.Lock()
	if d.ctx.Err() != nil {
		d.mu.Unlock()
		return nil
	}
	d.cancel()
	close(d.closed)
	if d.tcp != nil {
		d.tcp.Close()
	}
	if d.held != nil {
		d.held.Close()
	}
	d.mu.Unlock()
	d.loops.Wait()
	return nil
}

// Addr implements net.Listener.
func (d *Listener) Addr() net.Addr { return d.addr }

// Host returns the host and port of the server's URL.
func (d *Listener) Host() string {
	tcp, ok := d.addr.(*net.TCPAddr)
	switch {
	case !ok:
		return "apitest.invalid"
	case !tcp.IP.IsUnspecified():
		return tcp.String()
	case tcp.IP.To4() != nil:
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port)) // IPv6, or both
}

// Reached returns the addresses and names, besides those of the loopback, at which
// clients may connect.
func (d *Listener) Reached() (ips []net.IP, names []string) {
	tcp, ok := d.addr.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return nil, nil
	}
	if !tcp.IP.IsUnspecified() {
		return []net.IP{tcp.IP}, nil
	}
	addresses, _ := net.InterfaceAddrs() // without them the loopback is left
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok {
			ips = append(ips, n.IP)
		}
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		names = append(names, name)
	}
	return ips, names
}

// Conn is the server's side of a connection, with faults.
type Conn struct {
	net.Conn
	listener *Listener
	Came     State // the state when it was accepted
	closed   chan struct{}
	once     sync.Once

	mu    sync.Mutex
	dead  bool          // all data in both directions is dropped
	piece int           // bytes in one write; 0 = all
	pause time.Duration // after each piece
}

// NetConn returns the connection without faults.
func (c *Conn) NetConn() net.Conn { return c.Conn }

func (c *Conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		dead := c.dead
		c.mu.Unlock()
		if !dead || err != nil {
			return n, err
		}
	}
}

func (c *Conn) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		c.mu.Lock()
		dead, piece, pause := c.dead, c.piece, c.pause
		c.mu.Unlock()
		if dead {
			return len(b), nil
		}
		end := len(b)
		if piece > 0 {
			end = min(end, done+piece)
		}
		n, err := c.Conn.Write(b[done:end])
		done += n
		if err != nil {
			return done, err
		}
		if pause > 0 {
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-c.listener.closed: // what http.Server.Close sends, it sends under its mutex
				timer.Stop()
			case <-c.closed:
				timer.Stop()
				return done, net.ErrClosed
			}
		}
	}
	return done, nil
}

func (c *Conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

func (c *Conn) forget() {
	c.once.Do(func() {
		close(c.closed)
		c.listener.mu.Lock()
		delete(c.listener.conns, c)
		c.listener.mu.Unlock()
	})
}

// Vanish drops all further data, in both directions.
func (c *Conn) Vanish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

// Trickle sends n bytes at a time from now on, with a pause after each piece.
func (c *Conn) Trickle(n int, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.piece, c.pause = n, pause
}

// Reset ends the connection like a crashed peer.
func (c *Conn) Reset() {
	switch raw := c.Conn.(type) {
	case *memoryConn:
		raw.reset()
	case interface{ SetLinger(int) error }: // TCP
		raw.SetLinger(0)
	}
	c.Close()
}
