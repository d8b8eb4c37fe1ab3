package client

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/listwatch/listwatch/client/internal/alert"
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
		DialContext:            alert.Listen(dial),
		TLSClientConfig:        tc,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true, // a TLS configuration disables it otherwise
		// A dead peer is detected within 45 s, also if nothing is sent.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	t.DisableCompression = c.Compression == "none" || c.Compression == "" && isLoopback(base.Hostname())
	if c.DisableHTTP2 {
		t.ForceAttemptHTTP2, t.HTTP2 = false, nil
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
	}
	return t
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
