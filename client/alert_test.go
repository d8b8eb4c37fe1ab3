package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/client"
)

// TestAlertOfTheServerIsReported, however its way crosses with what we write: net/http
// alone reports it two times of three. No request is sent twice.
func TestAlertOfTheServerIsReported(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(whoami))
	pair, err := tls.X509KeyPair(ca.issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	p := &proxy{server: srv.Listener.Addr().String()}
	serveProxy(t, "http", p, nil)
	proxyURL, err := url.Parse("http://" + p.addr)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := stranger.issue(t, "eve")

	for _, tt := range []struct {
		name       string
		cfg        client.Config
		roundTrips int
		want       string
	}{
		{"no certificate", client.Config{}, 50, "GET URL/x: remote error: tls: certificate required"},
		{"of a stranger", client.Config{TLS: client.TLS{CertData: cert, KeyData: key}}, 50, "GET URL/x: remote error: tls: unknown certificate authority"},
		{"over HTTP/1.1", client.Config{DisableHTTP2: true}, 50, "GET URL/x: remote error: tls: certificate required"},
		{"through a proxy", client.Config{Proxy: http.ProxyURL(proxyURL)}, 10, "GET URL/x: through the proxy PROXY: remote error: tls: certificate required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for round := range tt.roundTrips {
				var dials atomic.Int64
				cfg := tt.cfg
				cfg.Server, cfg.TLS.CAData = srv.URL, ca.pem
				cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					dials.Add(1)
					return new(net.Dialer).DialContext(ctx, network, address)
				}
				_, err := do(t.Context(), newClient(t, cfg), &client.Request{Path: "/x"})
				if err == nil {
					t.Fatal("no error")
				}
				got := strings.NewReplacer(srv.URL, "URL", proxyURL.String(), "PROXY").Replace(err.Error())
				if op := (*net.OpError)(nil); got != tt.want || !errors.As(err, &op) || op.Op != "remote error" || dials.Load() != 1 {
					t.Fatalf("round %d, %d connections: %v; want %s", round, dials.Load(), err, tt.want)
				}
			}
		})
	}
}

// gone is a connection whose peer has gone, having said something.
type gone struct {
	net.Conn
	write error
}

func (g gone) Write([]byte) (int, error) { return 0, g.write }

// TestWriteToAPeerThatIsGoneIsReportedByReading, and any other failure at once.
func TestWriteToAPeerThatIsGoneIsReportedByReading(t *testing.T) {
	for _, tt := range []struct{ err, want error }{
		{&net.OpError{Op: "write", Err: syscall.EPIPE}, nil},
		{&net.OpError{Op: "write", Err: syscall.ECONNRESET}, nil},
		{net.ErrClosed, net.ErrClosed},
		{&net.OpError{Op: "write", Err: syscall.ETIMEDOUT}, syscall.ETIMEDOUT},
		{nil, nil},
	} {
		conn, err := client.Listening(func(context.Context, string, string) (net.Conn, error) { return gone{write: tt.err}, nil })(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Write([]byte("abc")); !errors.Is(err, tt.want) || tt.err != nil && tt.want == nil && n != 3 {
			t.Errorf("%v: %d, %v; want %v", tt.err, n, err, tt.want)
		}
	}
}
