package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
)

// authority issues certificates for 127.0.0.1 and server.test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate, for either side, and its key as PEM.
func (a *authority) issue(t testing.TB, name string) (cert, key []byte) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"server.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &priv.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// serve returns the URL of a server that wants a certificate of a and speaks
// HTTP/2.
func (a *authority) serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	pair, err := tls.X509KeyPair(a.issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

// whoami answers the protocol and the name in the client's certificate.
func whoami(w http.ResponseWriter, r *http.Request) {
	name := "nobody"
	if len(r.TLS.PeerCertificates) > 0 {
		name = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	fmt.Fprintf(w, "%d %s", r.ProtoMajor, name)
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue(t, "me")
	url := ca.serve(t, whoami)

	dir := t.TempDir()
	caFile, certFile, keyFile := filepath.Join(dir, "ca"), filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	for path, b := range map[string][]byte{caFile: ca.pem, certFile: cert, keyFile: key} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name string
		cfg  client.Config
		want string
	}{
		{"CA", client.Config{TLS: client.TLS{CAData: ca.pem}}, "2 nobody"},
		{"CA and client certificate", client.Config{TLS: client.TLS{CAData: ca.pem, CertData: cert, KeyData: key}}, "2 me"},
		{"files", client.Config{TLS: client.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}}, "2 me"},
		{"data before files", client.Config{TLS: client.TLS{CAData: ca.pem, CAFile: "none", CertData: cert, CertFile: "none", KeyData: key, KeyFile: "none"}}, "2 me"},
		{"server name", client.Config{TLS: client.TLS{CAData: ca.pem, ServerName: "server.test"}}, "2 nobody"},
		{"insecure", client.Config{TLS: client.TLS{Insecure: true}}, "2 nobody"},
		{"insecure with another CA", client.Config{TLS: client.TLS{Insecure: true, CAData: other.pem}}, "2 nobody"},
		{"HTTP/1.1", client.Config{TLS: client.TLS{CAData: ca.pem, CertData: cert, KeyData: key}, DisableHTTP2: true}, "1 me"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Server = url
			for _, watch := range []bool{false, true} {
				got, err := do(t.Context(), newClient(t, tt.cfg), &client.Request{Path: "/", Watch: watch})
				if got != tt.want || err != nil {
					t.Errorf("watch %t: %q, %v; want %q", watch, got, err, tt.want)
				}
			}
		})
	}
}

func TestTLSUntrusted(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	url := ca.serve(t, whoami)
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	for _, tt := range []struct {
		name string
		tls  client.TLS
		as   any
	}{
		{"system roots", client.TLS{CAData: []byte{}}, &unknown},
		{"another CA", client.TLS{CAData: other.pem}, &unknown},
		{"another name", client.TLS{CAData: ca.pem, ServerName: "other.test"}, &hostname},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, client.Config{Server: url, TLS: tt.tls})
			if _, err := c.Do(t.Context(), &client.Request{Path: "/"}); !errors.As(err, tt.as) {
				t.Errorf("Do: %v; want a %T", err, tt.as)
			}
		})
	}
}

// TestCertificateIsShownWhateverTheServerNames: many name other authorities than the
// one of our certificate, or none, and take it nevertheless.
func TestCertificateIsShownWhateverTheServerNames(t *testing.T) {
	ca, users := newAuthority(t), newAuthority(t)
	other, _ := ca.issue(t, "another name")
	pair, err := tls.X509KeyPair(ca.issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(other)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(whoami))
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequestClientCert}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	cert, key := users.issue(t, "jane")
	c := newClient(t, client.Config{Server: srv.URL, TLS: client.TLS{CAData: ca.pem, CertData: cert, KeyData: key}})
	if got := get(t, c); got != "2 jane" {
		t.Errorf("the server sees %q", got)
	}
}

// TestOldTLSIsRefused, which others in between can read.
func TestOldTLSIsRefused(t *testing.T) {
	ca := newAuthority(t)
	pair, err := tls.X509KeyPair(ca.issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(whoami))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := newClient(t, client.Config{Server: srv.URL, TLS: client.TLS{CAData: ca.pem}})
	if _, err := do(t.Context(), c, &client.Request{Path: "/"}); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("Do: %v", err)
	}
}
