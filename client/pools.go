package client

import (
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// pools are connections to the server, made as one identity: those of watches
// apart, so that a connection lost to a thousand of them takes no write with it.
type pools struct {
	id    *identity
	until time.Time // no new requests from then on; zero = never
	unary *http.Client
	watch *http.Client
}

func (c Config) pools(base *url.URL, id *identity) *pools {
	p := &pools{
		id:    id,
		unary: &http.Client{Transport: c.wrapped(base, id.tls(c.TLS)), CheckRedirect: sameHost},
		watch: &http.Client{Transport: c.wrapped(base, id.tls(c.TLS)), CheckRedirect: sameHost},
	}
	if c.MaxConnAge > 0 {
		p.until = time.Now().Add(jittered(c.MaxConnAge, rand.Float64()))
	}
	return p
}

// jittered is d, give or take a fifth by dice from 0 to 1, or the longest Duration.
func jittered(d time.Duration, dice float64) time.Duration {
	fifth := d / 5
	if spread := time.Duration(2 * float64(fifth) * dice); d-fifth <= math.MaxInt64-spread {
		return d - fifth + spread
	}
	return math.MaxInt64
}

func (p *pools) of(r *Request) *http.Client {
	if r.Watch {
		return p.watch
	}
	return p.unary
}

func (p *pools) closeIdle() {
	p.unary.CloseIdleConnections()
	p.watch.CloseIdleConnections()
}

// CloseIdleConnections closes connections that serve no request now. Requests
// in flight go on.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	p := c.pools
	c.mu.Unlock()
	p.closeIdle()
}

// connections returns those to send a request over as id, which are new where it
// shows or trusts other certificates, or where those there are have grown old.
func (c *Client) connections(id *identity) *pools {
	c.mu.Lock()
	p := c.pools
	c.mu.Unlock()
	switch {
	case p.id.era < id.era:
		return c.replace(p, id, Rotated)
	case !p.until.IsZero() && !time.Now().Before(p.until):
		return c.replace(p, p.id, Aged)
	}
	return p
}

// replace stops using old, unless another request did already, and returns what is
// used instead. What still runs on old goes on.
func (c *Client) replace(old *pools, id *identity, why Reason) *pools {
	c.mu.Lock()
	first := c.pools == old
	if first {
		c.pools = c.connect(id)
	}
	p := c.pools
	c.mu.Unlock()
	if first {
		old.closeIdle() // the last of them end by IdleConnTimeout
		c.trace.redial(why)
	}
	return p
}

// silent stops using connections of which one was found dead: over HTTP/2 the next
// request would be sent into the same silence.
func (c *Client) silent(dead *pools) { c.replace(dead, dead.id, Silent) }
