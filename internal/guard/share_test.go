package guard_test

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/internal/guard"
)

// from is a connection of a client with an address.
type from struct {
	net.Conn
	addr net.Addr
}

func (c from) RemoteAddr() net.Addr { return c.addr }

// TestOneAddressHasHalfOfTheConnections: whoever opens many leaves some to others, and
// gets others where it closes its own.
func TestOneAddressHasHalfOfTheConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
		l := guard.Share(p, 6)
		accepted := make(chan net.Conn, 10)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		dial := func(addr net.Addr) (theirs net.Conn, refused bool) {
			t.Helper()
			ours, conn := net.Pipe()
			select {
			case p.dialed <- from{conn, addr}:
			case <-time.After(time.Second):
				t.Fatalf("%v waits", addr)
			}
			synctest.Wait()
			select {
			case c := <-accepted:
				return c, false
			default:
			}
			if n, err := ours.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("%v: %d bytes, %v", addr, n, err)
			}
			return nil, true
		}
		flood, other := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.TCPAddr{IP: net.ParseIP("fd00::1")}
		var held []net.Conn
		for port := range 50 {
			flood.Port = port
			if c, refused := dial(flood); !refused {
				held = append(held, c)
			}
		}
		if len(held) != 3 {
			t.Errorf("one address has %d connections of 6, want 3", len(held))
		}
		for range 2 {
			if _, refused := dial(other); refused {
				t.Error("another address is refused")
			}
		}
		held[0].Close()
		held[0].Close()
		if _, refused := dial(&net.TCPAddr{IP: net.ParseIP("::ffff:10.0.0.1")}); refused {
			t.Error("it is refused where it has closed one")
		}
		if _, refused := dial(flood); !refused {
			t.Error("a connection that was closed twice counts twice")
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
}
