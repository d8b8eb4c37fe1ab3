package apitest

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

// doorState is what happens to new connections.
type doorState int

const (
	doorOpen      doorState = iota // served
	doorRefusing                   // refused, as by a machine where nothing listens
	doorHanging                    // accepted and never answered
	doorResetting                  // accepted and reset at once
	doorUntrusted                  // served; the certificate is chosen by it
	doorOutdated                   // served; the certificate is chosen by it
	doorHTTP1                      // served; the protocol is chosen by it
)

// maxConnections are open at once over TCP; a thousand watches over HTTP/1.1 have place.
const maxConnections = 10_000

// door is the server's net.Listener: over TCP, or over memory only.
type door struct {
	accepted chan net.Conn
	closed   chan struct{}
	ctx      context.Context // ends with the door
	cancel   context.CancelFunc
	loops    sync.WaitGroup

	mu    sync.Mutex
	state doorState
	addr  net.Addr
	tcp   net.Listener // nil in memory, and while it refuses
	conns map[*conn]struct{}
}

func newDoor(memory bool, address string) (*door, error) {
	d := &door{accepted: make(chan net.Conn), closed: make(chan struct{}), addr: memoryAddr{}, conns: make(map[*conn]struct{})}
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

// serve accepts from l until it is closed. The caller holds mu or is newDoor.
func (d *door) serve(l net.Listener) {
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

// knock brings a new connection to the server, or to what state says.
func (d *door) knock(ctx context.Context, raw net.Conn) error {
	c := &conn{Conn: raw, door: d, closed: make(chan struct{})}
	d.mu.Lock()
	state := d.state
	c.came = state
	if state != doorRefusing && d.ctx.Err() == nil {
		d.conns[c] = struct{}{}
	}
	d.mu.Unlock()
	switch {
	case state == doorRefusing || d.ctx.Err() != nil:
		return os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case state == doorHanging:
		return nil
	case state == doorResetting:
		c.reset()
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

// set changes the state; connections that exist stay.
func (d *door) set(state doorState) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = state
	if _, memory := d.addr.(memoryAddr); memory {
		return nil
	}
	switch {
	case state == doorRefusing && d.tcp != nil:
		d.tcp.Close()
		d.tcp = nil
	case state != doorRefusing && d.tcp == nil && d.ctx.Err() == nil:
		l, err := net.Listen("tcp", d.addr.String())
		if err != nil {
			return err
		}
		d.serve(l)
	}
	return nil
}

// cut resets every connection.
func (d *door) cut() {
	d.mu.Lock()
	conns := make([]*conn, 0, len(d.conns))
	for c := range d.conns {
		conns = append(conns, c)
	}
	d.mu.Unlock()
	for _, c := range conns {
		c.reset()
	}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.accepted:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It also ends connections that hang.
func (d *door) Close() error {
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
	d.mu.Unlock()
	d.loops.Wait()
	return nil
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return d.addr }

// host is the host and port of the server's URL.
func (d *door) host() string {
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

// reached returns the addresses and names, besides those of the loopback, under which
// clients may come.
func (d *door) reached() (ips []net.IP, names []string) {
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

// conn is the server's side of a connection, with faults.
type conn struct {
	net.Conn
	door   *door
	came   doorState // what the door was then
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	dead  bool          // what comes in and what goes out vanishes
	piece int           // bytes in one write; 0 = all
	pause time.Duration // after each piece
}

func (c *conn) Read(b []byte) (int, error) {
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

func (c *conn) Write(b []byte) (int, error) {
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
			case <-c.closed:
				timer.Stop()
				return done, net.ErrClosed
			}
		}
	}
	return done, nil
}

func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

func (c *conn) forget() {
	c.once.Do(func() {
		close(c.closed)
		c.door.mu.Lock()
		delete(c.door.conns, c)
		c.door.mu.Unlock()
	})
}

// vanish lets all that is sent from now on, either way, vanish.
func (c *conn) vanish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

// trickle sends n bytes at a time from now on, with a pause after each piece.
func (c *conn) trickle(n int, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.piece, c.pause = n, pause
}

// reset ends the connection as a crashed peer does.
func (c *conn) reset() {
	switch raw := c.Conn.(type) {
	case *memoryConn:
		raw.reset()
	case interface{ SetLinger(int) error }: // TCP
		raw.SetLinger(0)
	}
	c.Close()
}
