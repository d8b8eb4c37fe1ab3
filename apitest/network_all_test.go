package apitest_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// TestCertificateOfAllAddresses: a server that listens on all of them is reached under
// its URL, under each address of the machine, and by the machine's name.
func TestCertificateOfAllAddresses(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"0.0.0.0:0", "[::]:0"} {
		srv := apitest.NewWith(t, apitest.Options{Address: listen, TLS: true})
		u, err := url.Parse(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(srv.CAPEM())
		hosts := []string{u.Hostname(), name, "localhost"}
		for _, a := range addresses {
			hosts = append(hosts, a.(*net.IPNet).IP.String())
		}
		for _, host := range hosts {
			raw, err := srv.Dial(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			conn := tls.Client(raw, &tls.Config{RootCAs: pool, ServerName: host, MinVersion: tls.VersionTLS12})
			if err := conn.HandshakeContext(t.Context()); err != nil {
				t.Errorf("%s: %s: %v", listen, host, err)
			}
			conn.Close()
		}
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
		resp, err := client.Get(srv.URL + "/version")
		if err != nil {
			t.Errorf("%s: %v", listen, err)
			continue
		}
		resp.Body.Close()
		client.CloseIdleConnections()
	}
}
