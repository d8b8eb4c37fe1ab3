package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"
)

// wrapped returns a connection pool, with what Wrap puts around it.
func (c Config) wrapped(base *url.URL, tc *tls.Config) http.RoundTripper {
	t := c.transport(base, tc)
	if c.Wrap == nil {
		return t
	}
	return wrapper{c.Wrap(t), t}
}

// wrapper lets http.Client close the idle connections of a pool that is wrapped.
type wrapper struct {
	http.RoundTripper
	pool *http.Transport
}

func (w wrapper) CloseIdleConnections() { w.pool.CloseIdleConnections() }

// transport returns a connection pool.
func (c Config) transport(base *url.URL, tc *tls.Config) *http.Transport {
	proxy := c.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t := &http.Transport{
		Proxy:                  proxy,
		DialContext:            dial,
		TLSClientConfig:        tc,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true, // a TLS configuration of our own switches it off
		// A dead peer is found within 45 s, also when nothing is sent.
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

// sameHost follows a redirect only within the host that has our credentials.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > 3 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// config reads the files that t names.
func (t TLS) config() (*tls.Config, error) {
	tc := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.Insecure}
	ca, err := dataOrFile(t.CAData, t.CAFile, "certificate authority")
	if err != nil {
		return nil, err
	}
	if ca != nil {
		tc.RootCAs = x509.NewCertPool()
		if !tc.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("client: certificate authority %s: no PEM certificate in it", nameOf(t.CAFile, t.CAData))
		}
	}
	cert, err := dataOrFile(t.CertData, t.CertFile, "client certificate")
	if err != nil {
		return nil, err
	}
	key, err := dataOrFile(t.KeyData, t.KeyFile, "client key")
	if err != nil {
		return nil, err
	}
	switch {
	case cert == nil && key == nil:
	case cert == nil || key == nil:
		return nil, errors.New("client: a client certificate and its key must both be given")
	default:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client: client certificate %s with key %s: %w", nameOf(t.CertFile, t.CertData), nameOf(t.KeyFile, t.KeyData), err)
		}
		tc.Certificates = []tls.Certificate{pair}
	}
	return tc, nil
}

func dataOrFile(data []byte, file, what string) ([]byte, error) {
	switch {
	case len(data) > 0:
		return data, nil
	case file == "":
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("client: read %s: %w", what, err)
	}
	return b, nil
}

func nameOf(file string, data []byte) string {
	switch {
	case len(data) > 0:
		return "(inline data)"
	case file == "":
		return "(none)"
	}
	return file
}
