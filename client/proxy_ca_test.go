package client_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
)

// TestProxyIsTrustedWhileItsAuthorityIsReplaced: the file of the authorities is missing or half
// written, and then it has those of a new proxy.
func TestProxyIsTrustedWhileItsAuthorityIsReplaced(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{TLS: true, Hosts: []string{"*"}})
	cert, key := srv.ClientCertPEM()
	old, renewed := newAuthority(t), newAuthority(t)
	p := &proxy{server: srv.URL[len("https://"):]}
	serveProxy(t, "https", p, old)
	file := filepath.Join(t.TempDir(), "ca")
	write := func(b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(slices.Concat(srv.CAPEM(), old.pem))
	c := newClient(t, client.Config{
		Server: "https://" + faraway,
		Proxy:  func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "https", Host: p.addr}, nil },
		TLS:    client.TLS{CAFile: file, ServerName: "localhost", CertData: cert, KeyData: key},
	})
	connect := func(when string) {
		t.Helper()
		c.CloseIdleConnections()
		if _, err := do(t.Context(), c, &client.Request{Path: "/api/v1/pods"}); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	connect("at first")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	connect("the file is missing")
	write(old.pem[:len(old.pem)/2])
	connect("the file is half written")
	write(slices.Concat(srv.CAPEM(), renewed.pem))
	serveProxy(t, "https", p, renewed)
	connect("the file and the proxy are replaced")
}
