package jetstream

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ErrProtocol means that a server has sent what [Dialer] refuses. errors.Is finds it in the error
// with which the connection ends.
var ErrProtocol = errors.New("NATS protocol")

// Dialer is for nats.SetCustomDialer. Its connections limit what a server can have the client
// allocate, for which package nats has no option: they end with an ErrProtocol where a control line
// has more than 1 MiB or a message more than 64 MiB, the largest max_payload of a server.
//
// The limits end where the client starts TLS: a server that shows a valid certificate is trusted
// that far. Do not use a Dialer for URLs with the schemes ws and wss.
type Dialer struct {
	// Timeout limits a dial to all addresses of a host, which needs nats.SkipHostLookup; without
	// it, to each of them. Default 10 s.
	Timeout time.Duration
}

// Dial connects to an address.
func (d Dialer) Dial(network, address string) (net.Conn, error) {
	if d.Timeout <= 0 {
		d.Timeout = 10 * time.Second
	}
	c, err := net.DialTimeout(network, address, d.Timeout)
	if err != nil {
		return nil, err
	}
	return &limited{Conn: c}, nil
}

// limited is a connection that follows what it reads. One goroutine at a time may read, and one
// may write.
type limited struct {
	net.Conn
	wrote   sync.Once
	secure  atomic.Bool // TLS was started: what is read are its records
	scanner scanner
	err     error // of scanner
}

// tlsHandshake is the first byte of TLS. No line of the NATS protocol begins with it.
const tlsHandshake = 0x16

// Write implements net.Conn.
func (c *limited) Write(b []byte) (int, error) {
	c.wrote.Do(func() { c.secure.Store(len(b) > 0 && b[0] == tlsHandshake) })
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *limited) Read(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(b)
	if !c.secure.Load() {
		if c.err = c.scanner.follow(b[:n]); c.err != nil {
			c.Conn.Close()
			return 0, c.err
		}
	}
	return n, err
}
