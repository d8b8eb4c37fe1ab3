package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/client/internal/alert"
	"github.com/listwatch/listwatch/internal/wait"
)

// wrapped returns a connection pool, wrapped by Wrap.
func (c Config) wrapped(base *url.URL, tc *tls.Config) http.RoundTripper {
	t := c.throughProxies(c.transport(base, tc))
	if c.Wrap == nil {
		return t
	}
	return wrapper{c.Wrap(t), t.Transport}
}

// wrapper lets http.Client close the idle connections of a wrapped pool.
type wrapper struct {
	http.RoundTripper
	pool *http.Transport
}

func (w wrapper) CloseIdleConnections() { w.pool.CloseIdleConnections() }

// transport returns a connection pool.
func (c Config) transport(base *url.URL, tc *tls.Config) *http.Transport {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t := &http.Transport{
		DialContext:            alert.Listen(limited(dial)),
		TLSClientConfig:        tc,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true, // a TLS configuration disables it otherwise
		// A dead peer is detected within 45 s, also if nothing is sent. While a write is blocked,
		// as an ACK to a peer that reads nothing, no context ends a request of the connection.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 10 * time.Second},
	}
	t.DisableCompression = c.Compression == "none" || c.Compression == "" && base.Scheme == "http" && isLoopback(base.Hostname())
	if c.DisableHTTP2 {
		t.ForceAttemptHTTP2, t.HTTP2 = false, nil
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
	}
	return t
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// maxDials limits the connections that are opened for one request, after freeDials with growing
// pauses. A healthy server that permits few streams on each needs several: others take them.
const maxDials, freeDials = 50, 10

var errDials = fmt.Errorf("%d connections were opened for the request, and it got no response: the server ended them, or permits few requests on each", maxDials)

type dialsKey struct{}

// countDials limits the connections that are opened for the request of ctx. net/http goes
// on for ever, and without a pause, with a server that ends each connection by GOAWAY.
func countDials(ctx context.Context) context.Context {
	return context.WithValue(ctx, dialsKey{}, new(atomic.Int64))
}

// limited returns dial with the limit of countDials.
func limited(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if c, ok := ctx.Value(dialsKey{}).(*atomic.Int64); ok {
			n := c.Add(1)
			if n > maxDials {
				return nil, errDials
			}
			_ = wait.For(ctx, time.Duration(max(0, n-freeDials))*10*time.Millisecond) // or dial fails
		}
		return dial(ctx, network, address)
	}
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)
