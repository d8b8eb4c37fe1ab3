package apitest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
)

// visit says what a client with what was valid at some time meets.
func visit(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Get(url + configMaps)
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "unknown authority"
	case err != nil:
		return "turned down"
	}
	resp.Body.Close()
	return resp.Status[:3]
}

// holder shows and trusts what is valid now.
func holder(t *testing.T, srv *apitest.Server) *http.Client {
	t.Helper()
	pair, err := tls.X509KeyPair(srv.ClientCertPEM())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(srv.CAPEM())
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	c := &http.Client{Transport: &http.Transport{
		DialContext: srv.Dial, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, GetClientCertificate: show},
	}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestRotatedClientCertificateIsTheOnlyOne(t *testing.T) {
	story(t, apitest.Options{ClientCerts: true}, func(t *testing.T, srv *apitest.Server) {
		old := holder(t, srv)
		got := []string{visit(t, old, srv.URL), visit(t, srv.Client(), srv.URL)}
		srv.RotateClient()
		got = append(got, visit(t, old, srv.URL)) // over the connection that exists
		srv.Cut()
		synctest.Wait() // until it was noticed
		got = append(got, visit(t, old, srv.URL), visit(t, holder(t, srv), srv.URL), visit(t, srv.Client(), srv.URL))
		if diff := cmp.Diff([]string{"200", "200", "401", "401", "200", "200"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRotatedCASignsAll(t *testing.T) {
	story(t, apitest.Options{ClientCerts: true}, func(t *testing.T, srv *apitest.Server) {
		old := holder(t, srv)
		ca := string(srv.CAPEM())
		got := []string{visit(t, old, srv.URL)}
		srv.RotateCA()
		srv.Cut()
		synctest.Wait() // until it was noticed
		blind := holder(t, srv)
		blind.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = old.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate
		got = append(got, visit(t, old, srv.URL), visit(t, blind, srv.URL), visit(t, holder(t, srv), srv.URL), visit(t, srv.Client(), srv.URL))
		if diff := cmp.Diff([]string{"200", "unknown authority", "turned down", "200", "200"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if string(srv.CAPEM()) == ca {
			t.Error("the CA is the same")
		}
	})
}

func TestWithoutTLSNothingRotates(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.RotateClient()
		srv.RotateCA()
		if got := visit(t, srv.Client(), srv.URL); got != "200" {
			t.Error(got)
		}
	})
}
