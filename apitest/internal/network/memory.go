package network

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memoryWindow is how many bytes one side may send before the other reads: a
// small TCP window.
const memoryWindow = 64 << 10

// memoryPair returns the two ends of a connection without sockets. Unlike net.Pipe it
// buffers, preserves the boundaries of writes in reads, and distinguishes a reset from
// a normal end. Waiting is durably blocking for testing/synctest, and deadlines use
// package time.
func memoryPair() (client, server *memoryConn) {
	up, down := newHalf(), newHalf()
	return &memoryConn{in: down, out: up}, &memoryConn{in: up, out: down}
}

type memoryConn struct{ in, out *half }

func (c *memoryConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *memoryConn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *memoryConn) Close() error {
	c.in.update(func(h *half) { h.deaf = true }) // first: the other side's answer to the end must not arrive
	c.out.update(func(h *half) { h.ended = true })
	return nil
}

// reset ends both directions at once; data that has arrived can still be read.
func (c *memoryConn) reset() {
	c.out.update(func(h *half) {
		c.in.update(func(h *half) { h.reset = true }) // this side may close at once, which must not look like an end
		h.reset = true
	})
}

func (c *memoryConn) LocalAddr() net.Addr  { return memoryAddr{} }
func (c *memoryConn) RemoteAddr() net.Addr { return memoryAddr{} }

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "192.0.2.1:443" } // TEST-NET-1

// half is one direction of a connection.
type half struct {
	mu              sync.Mutex
	changed         *sync.Cond
	segments        [][]byte
	size            int
	ended           bool // the writer has closed
	deaf            bool // the reader has closed
	reset           bool
	readBy, writeBy deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) update(f func(*half)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
	h.changed.Broadcast()
}

func (h *half) setDeadline(d *deadline, t time.Time) {
	h.update(func(h *half) {
		if d.timer != nil {
			d.timer.Stop()
			d.timer = nil
		}
		d.at = t
		if wait := time.Until(t); !t.IsZero() && wait > 0 {
			d.timer = time.AfterFunc(wait, func() { h.update(func(*half) {}) })
		}
	})
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.deaf:
			return 0, net.ErrClosed
		case h.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case len(h.segments) > 0:
			n := copy(b, h.segments[0])
			h.size -= n
			if h.segments[0] = h.segments[0][n:]; len(h.segments[0]) == 0 {
				h.segments[0] = nil
				h.segments = h.segments[1:]
			}
			h.changed.Broadcast()
			return n, nil
		case h.reset:
			return 0, &net.OpError{Op: "read", Net: "memory", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
		case h.ended:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

func (h *half) write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := 0
	for {
		switch {
		case h.reset:
			return done, &net.OpError{Op: "write", Net: "memory", Err: os.NewSyscallError("write", syscall.ECONNRESET)}
		case h.ended:
			return done, net.ErrClosed
		case h.deaf:
			return done, &net.OpError{Op: "write", Net: "memory", Err: os.NewSyscallError("write", syscall.EPIPE)}
		case h.writeBy.passed():
			return done, os.ErrDeadlineExceeded
		case done == len(b):
			return done, nil
		case h.size < memoryWindow:
			n := min(len(b)-done, memoryWindow-h.size)
			h.segments = append(h.segments, append([]byte(nil), b[done:done+n]...))
			h.size += n
			done += n
			h.changed.Broadcast()
		default:
			h.changed.Wait()
		}
	}
}

// DialMemory returns the client's side of a connection to a listener without sockets.
func (d *Listener) DialMemory(ctx context.Context) (net.Conn, error) {
	client, server := memoryPair()
	if err := d.knock(ctx, server); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: memoryAddr{}, Err: err}
	}
	return client, nil
}
