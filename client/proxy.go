package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/client/internal/upgrade"
)

// ProxyError reports that a request through a proxy failed: an error from the proxy, on
// the way to it, or behind it.
type ProxyError struct {
	Proxy string // its URL, without user and password
	Err   error
}

func (e *ProxyError) Error() string { return "through the proxy " + e.Proxy + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ProxyError) Unwrap() error { return e.Err }

// proxied is a connection pool whose errors name the proxy.
//
// It also does the TLS handshake with https proxies: an http.Transport would use the
// settings for the server: its name, our certificate, and HTTP/2, with which it does
// not support CONNECT.
type proxied struct {
	*http.Transport
	config Config
	secure sync.Map // addresses, host:port, of https proxies
}

// throughProxies replaces Proxy and DialContext of t.
func (c Config) throughProxies(t *http.Transport) *proxied {
	p := &proxied{Transport: t, config: c}
	dial := t.DialContext
	t.Proxy = p.plain
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if _, secure := p.secure.Load(address); err == nil && secure {
			return p.handshake(ctx, conn, address)
		}
		return conn, err
	}
	t.OnProxyConnectResponse = connected
	return p
}

// chooseProxy returns the proxy for req; nil = none.
func (c Config) chooseProxy(req *http.Request) (*url.URL, error) {
	if c.Proxy != nil {
		return c.Proxy(req)
	}
	return http.ProxyFromEnvironment(req)
}

// plain returns the proxy that RoundTrip has chosen to the Transport, which gets an https proxy
// as an http one; handshake makes its connections.
func (p *proxied) plain(req *http.Request) (*url.URL, error) {
	u, _ := req.Context().Value(p).(*url.URL)
	if u == nil || u.Scheme != "https" {
		return u, nil
	}
	host := u.Hostname()
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		return nil, errors.New("its name is not ASCII: write it as xn--")
	}
	to := *u
	to.Scheme, to.Host = "http", net.JoinHostPort(host, cmp.Or(u.Port(), "443"))
	p.secure.Store(to.Host, true)
	return &to, nil
}

// handshake does the TLS handshake with a proxy. Its certificate may be signed by an
// authority of the system or of the cluster.
func (p *proxied) handshake(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		conn.Close()
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(p.config.TLS.CAData)
	ctx, cancel := context.WithTimeout(ctx, p.TLSHandshakeTimeout)
	defer cancel()
	tc := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots, InsecureSkipVerify: p.config.TLS.Insecure})
	if err := tc.HandshakeContext(ctx); err != nil {
		conn.Close()
		if ctx.Err() != nil { // not a caller's deadline, and it must not look like one
			err = fmt.Errorf("it does not answer for %v", p.TLSHandshakeTimeout)
		}
		return nil, fmt.Errorf("TLS with it: %w", err)
	}
	return tc, nil
}

// connected checks the response to CONNECT.
func connected(_ context.Context, proxy *url.URL, req *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return refusal(proxy, req.Host, resp.StatusCode)
}

func refusal(proxy *url.URL, host string, code int) error {
	do := "ask its operator"
	switch code {
	case http.StatusProxyAuthRequired:
		do = "put its user and password into its URL"
		if proxy.User != nil {
			do = "the user or password in its URL is wrong"
		}
	case http.StatusForbidden, http.StatusMethodNotAllowed:
		do = "have it allow that, or name the server in NO_PROXY"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		do = "it cannot reach the server, or not now"
	}
	return fmt.Errorf("the proxy refuses to connect to %s (%d %s): %s", host, code, strings.ToLower(http.StatusText(code)), do)
}

// RoundTrip sends req, and wraps errors in a ProxyError if there is a proxy.
func (p *proxied) RoundTrip(req *http.Request) (*http.Response, error) {
	u, err := p.config.chooseProxy(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	if u == nil {
		return upgrade.Refuse(p.Transport.RoundTrip(req))
	}
	resp, err := upgrade.Refuse(p.Transport.RoundTrip(req.WithContext(context.WithValue(req.Context(), p, u))))
	name := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	if err == nil && resp.StatusCode == http.StatusProxyAuthRequired { // forwarded, without CONNECT
		resp.Body.Close()
		err = refusal(u, req.URL.Host, resp.StatusCode)
	}
	if err != nil {
		return nil, &ProxyError{name, explainProxy(err)}
	}
	resp.Body = &proxiedBody{resp.Body, name}
	return resp, nil
}

// explainProxy replaces errors that are hard to understand, or that quote data from an
// unknown peer.
func explainProxy(err error) error {
	var op *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Errorf("cannot reach it: %w", op.Err)
	case errors.As(err, &record):
		return errors.New("it does not send the TLS of a server: the proxy responds itself, or the server uses http")
	case strings.HasPrefix(err.Error(), "malformed HTTP "):
		return errors.New("it does not respond in HTTP: check the scheme and the port of its URL")
	case errors.Is(err, context.DeadlineExceeded): // the deadline of net/http for CONNECT
		return fmt.Errorf("%w: it does not answer", ErrIdle)
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("the connection ended: %w", err)
	}
	return err
}

// proxiedBody is a body that is received through a proxy.
type proxiedBody struct {
	io.ReadCloser
	name string
}

func (b *proxiedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = &ProxyError{b.name, err}
	}
	return n, err
}

// keepProxy returns err, wrapped in a ProxyError if old is one; old if err is nil.
func keepProxy(old, err error) error {
	if err == nil {
		return old
	}
	if p := (*ProxyError)(nil); errors.As(old, &p) {
		return &ProxyError{p.Proxy, err}
	}
	return err
}
