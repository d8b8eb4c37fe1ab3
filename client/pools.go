package client

import (
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/listwatch/listwatch/client/internal/redirect"
)

// pools are connections to the server with one identity. Watches have their own, so
// that a connection that watches block or lose does not affect writes.
type pools struct {
	id    *identity
	until time.Time // no new requests after it; zero = no limit
	unary *http.Client
	watch *http.Client
}

func (c Config) pools(base *url.URL, id *identity) *pools {
	if id.roots != nil { // a proxy is trusted by the same content of the file as the server
		c.TLS.CAData = id.roots.pem
	}
	p := &pools{
		id:    id,
		unary: &http.Client{Transport: c.wrapped(base, id.tls(c.TLS)), CheckRedirect: redirect.Check},
		watch: &http.Client{Transport: c.wrapped(base, id.tls(c.TLS)), CheckRedirect: redirect.Check},
	}
	if c.MaxConnAge > 0 {
		p.until = time.Now().Add(jittered(c.MaxConnAge, rand.Float64()))
	}
	return p
}

// jittered returns d with a jitter of a fifth, by dice from 0 to 1, or the longest
// Duration.
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

// CloseIdleConnections closes connections that carry no request. Requests in progress
// continue.
func (c *Client) CloseIdleConnections() {
	c.mu.Lock()
	p := c.pools
	c.mu.Unlock()
	p.closeIdle()
}

// connections returns the pools for a request as id. They are new if id has newer
// certificates, or if the current ones are too old.
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

// replace replaces old, unless another request did already, and returns the pools to
// use. Requests on old continue.
func (c *Client) replace(old *pools, id *identity, why Reason) *pools {
	c.mu.Lock()
	first := c.pools == old
	if first {
		c.pools = c.connect(id)
	}
	p := c.pools
	c.mu.Unlock()
	if first {
		old.closeIdle() // the others end by IdleConnTimeout
		c.trace.redial(why)
	}
	return p
}

// silent replaces pools with a dead connection: over HTTP/2 the next request would use
// it again.
func (c *Client) silent(dead *pools) { c.replace(dead, dead.id, Silent) }
