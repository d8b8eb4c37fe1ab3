package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards TCP connections byte by byte to a target, so that TLS passes
// through, and breaks them on command: what a network does to a watch. Its
// methods may be called from any goroutine.
type Proxy struct {
	target string
	addr   string // where it listens, the same after Refuse and Accept
	wait   sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while refusing
	links    map[*link]struct{}
	accepted int
	delay    time.Duration
	paused   chan struct{} // closed by Resume; nil while running
	cutting  bool
	left     int64 // while cutting: bytes from the target until the cut
	each     int64 // bytes from the target that a connection may carry; 0: any
	closed   bool
}

// link is one client's connection and ours to the target.
type link struct {
	client, server net.Conn
	done           chan struct{} // closed when the link ends
	once           sync.Once
	carried        int64 // bytes from the server; only forward's goroutine for it
	forgotten      bool  // under Proxy.mu
}

// NewProxy starts a proxy on a free loopback port for target, a host:port.
// Close ends it.
func NewProxy(target string) (*Proxy, error) {
	port, err := freePort()
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	p := &Proxy{target: target, addr: fmt.Sprintf("127.0.0.1:%d", port), links: make(map[*link]struct{})}
	if err := p.Accept(); err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	return p, nil
}

// Addr returns the host:port that the proxy listens on.
func (p *Proxy) Addr() string { return p.addr }

// URL returns the https base URL of the proxy.
func (p *Proxy) URL() string { return "https://" + p.addr }

// Accepted returns how many connections clients have opened so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Live returns how many connections are open now.
func (p *Proxy) Live() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Accept ends Refuse: the proxy listens again on the same port.
func (p *Proxy) Accept() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("accept connections: the proxy is closed")
	}
	if p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("accept connections: %w", err)
	}
	p.listener = l
	p.wait.Go(func() { p.serve(l) })
	return nil
}

// Refuse makes new connections fail with connection refused. Live ones go on.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
}

// CutAll resets (RST) every live connection on both sides.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.reset()
	}
}

// CutAfter lets n more bytes from the target through, counted over all
// connections, live and new, and then does CutAll, once. The bytes are those
// on the wire, so with TLS the cut is somewhere in a record. n below 1 cuts at
// the next byte. It replaces a CutAfter that has not happened yet.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutting, p.left = true, max(0, n)
}

// CutEach resets every connection, live and new, that has carried n bytes from
// the target since it was opened, over and over. 0 is off. An n below a TLS
// handshake's few KiB lets nothing useful through.
func (p *Proxy) CutEach(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = max(0, n)
}

// Pause stops forwarding in both directions without closing anything, as a
// peer does that lost its power: connections stay open and silent, and new
// ones are accepted and stay silent too.
func (p *Proxy) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused == nil {
		p.paused = make(chan struct{})
	}
}

// Resume ends Pause. Bytes that were held go through; none are lost.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
	}
}

// Forget makes every live connection silent for good, and its ends unheard, as a
// firewall does that forgot them. New connections work.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.forgotten = true
	}
}

// Delay holds each chunk of bytes (at most 32 KiB), in each direction, for d
// before it goes on. 0 is off. It slows the throughput too: one chunk a d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Close stops listening, resets all connections and waits for their end.
func (p *Proxy) Close() {
	p.Refuse()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.CutAll()
	p.wait.Wait()
}

// serve accepts until the listener is closed.
func (p *Proxy) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.connect(client) })
	}
}

// connect forwards for one client until either side ends.
func (p *Proxy) connect(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server, done: make(chan struct{})}
	p.mu.Lock()
	p.accepted++
	closed := p.closed
	if !closed {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		l.reset()
		return
	}
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() { p.forward(l, client, server) })
	both.Go(func() { p.forward(l, server, client) })
	both.Wait()
}

// forward copies one direction, holding each chunk while the proxy is paused
// or delays, and ends the link when it can't go on.
func (p *Proxy) forward(l *link, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !p.hold(l) { // an end is held back too
			return
		}
		pass, cut := n, cutNone
		if n > 0 && from == l.server {
			pass, cut = p.budget(l, n)
		}
		if _, werr := to.Write(buf[:pass]); werr != nil && err == nil {
			err = werr
		}
		switch {
		case cut == cutAll:
			p.CutAll()
			return
		case cut == cutLink:
			l.reset()
			return
		case errors.Is(err, io.EOF):
			l.close()
			return
		case err != nil:
			l.reset()
			return
		}
	}
}

// hold waits out the delay and the pause, or for ever on a link that is
// forgotten; false means that the link ended.
func (p *Proxy) hold(l *link) bool {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
	}
	for {
		p.mu.Lock()
		paused, forgotten := p.paused, l.forgotten
		p.mu.Unlock()
		if forgotten {
			<-l.done
			return false
		}
		if paused == nil {
			return true
		}
		select {
		case <-paused:
		case <-l.done:
			return false
		}
	}
}

// cut is what to reset once the bytes that may pass have passed.
type cut int

const (
	cutNone cut = iota
	cutLink
	cutAll
)

// budget returns how many of n bytes may pass and which cut is due then.
func (p *Proxy) budget(l *link, n int) (int, cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pass, due := int64(n), cutNone
	if p.each > 0 && l.carried+pass >= p.each {
		pass, due = max(0, p.each-l.carried), cutLink
	}
	l.carried += pass
	if p.cutting {
		if pass >= p.left {
			pass, due = p.left, cutAll
			p.cutting = false
		}
		p.left -= pass
	}
	return int(pass), due
}

// close ends the link in the ordinary way, with FIN.
func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		l.client.Close()
		l.server.Close()
	})
}

// reset ends the link with RST.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.done)
		reset(l.client)
		reset(l.server)
	})
}

// reset closes a connection so that the peer gets RST, not FIN.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0) // if it fails the peer gets FIN, which ends it too
	}
	c.Close()
}
