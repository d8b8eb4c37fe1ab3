package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
)

// runAtHome runs the program to its end, with no environment but a home.
func runAtHome(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	home := t.TempDir()
	env := func(key string) string {
		if key == "HOME" {
			return home
		}
		return ""
	}
	var out, err bytes.Buffer
	code = run(ctx, args, env, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// kubeconfigOf writes a kubeconfig with one user.
func kubeconfigOf(t *testing.T, cluster, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// inline is PEM for a kubeconfig.
func inline(pem []byte) string { return base64.StdEncoding.EncodeToString(pem) }

// strangerPair is a client certificate of a CA that only has the name of ca.
func strangerPair(t *testing.T, ca string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "eve", Organization: []string{"spies"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Date(2100, 1, 2, 3, 4, 5, 0, time.UTC)}
	issuer := &x509.Certificate{Subject: pkix.Name{CommonName: ca}}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// closedPort returns an address where nothing listens, and that no other test can take.
func closedPort(t *testing.T) string {
	t.Helper()
	srv := apitest.New(t)
	if err := srv.SetDoor(apitest.Refusing); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(srv.URL, "http://")
}

// TestEachFailureIsExplainedInOneLine: what was wrong, where, and what to do.
func TestEachFailureIsExplainedInOneLine(t *testing.T) {
	secure := apitest.NewWith(t, apitest.Options{TLS: true, Token: "sesame"})
	mutual := apitest.NewWith(t, apitest.Options{ClientCerts: true})
	plain := apitest.New(t)
	answer := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	refusing := answer(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) })
	asking := answer(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	login := answer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>log in")
	})
	away := answer(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://login.example/", http.StatusFound)
	})
	mute := answer(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	cert, key := strangerPair(t, "apitest CA")
	ca := "certificate-authority-data: " + inline(secure.CAPEM())
	mutualCA := "certificate-authority-data: " + inline(mutual.CAPEM())
	expired := "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:d:a","exp":1577934245}`)) + ".c2ln"
	closed := closedPort(t)
	for _, test := range []struct {
		name, cluster, user string
		args                string
		code                int
		want                string
	}{
		{"no credentials", "server: " + secure.URL + ", " + ca, "", "", 1,
			"discover the API: GET SECURE/api: server: Unauthorized (401 Unauthorized); no credentials were shown: check --token, --user, --context or the kubeconfig"},
		{"wrong token", "server: " + secure.URL + ", " + ca, "token: wrong", "", 1,
			"discover the API: GET SECURE/api: server: Unauthorized (401 Unauthorized); the server does not take the token, which may be wrong, expired or of another cluster: check --token, --user, --context or the kubeconfig"},
		{"expired token", "server: " + secure.URL + ", " + ca, "token: " + expired, "", 1,
			"discover the API: GET SECURE/api: server: Unauthorized (401 Unauthorized); the token expired at 2020-01-02 03:04 UTC: log in again, or check --token, --user, --context or the kubeconfig"},
		{"wrong password", "server: " + secure.URL + ", " + ca, "username: eve, password: wrong", "", 1,
			"discover the API: GET SECURE/api: server: Unauthorized (401 Unauthorized); the server does not take the user name and password of eve, which may be wrong, expired or of another cluster: check --token, --user, --context or the kubeconfig"},
		{"unknown CA", "server: " + secure.URL, "token: sesame", "", 1,
			"discover the API: GET SECURE/api: tls: failed to verify certificate: x509: certificate signed by unknown authority; give the cluster's CA by --certificate-authority or in the kubeconfig (--insecure-skip-tls-verify would trust anybody)"},
		{"wrong name", "tls-server-name: elsewhere.example, server: " + secure.URL + ", " + ca, "token: sesame", "", 1,
			"discover the API: GET SECURE/api: tls: failed to verify certificate: x509: certificate is valid for localhost, apitest.invalid, not elsewhere.example; give the name that the certificate carries by --tls-server-name, or another --server"},
		{"certificate of a stranger", "server: " + mutual.URL + ", " + mutualCA, "client-certificate-data: " + inline(cert) + ", client-key-data: " + inline(key), "", 1,
			"discover the API: GET MUTUAL/api: remote error: tls: unknown certificate authority; the server does not take the client certificate of CN=eve O=spies, issued by CN=apitest CA, until 2100-01-02 03:04 UTC: check --user or --client-certificate"},
		{"http in place of https", "server: http" + strings.TrimPrefix(secure.URL, "https"), "", "", 1,
			"discover the API: GET PLAINSECURE/api: server: the server uses https, but the request was http: write https:// in its address (400)"},
		{"https in place of http", "server: https" + strings.TrimPrefix(plain.URL, "http"), "", "", 1,
			"discover the API: GET TLSPLAIN/api: http: server gave HTTP response to HTTPS client; the server speaks plain HTTP: give --server http://..."},
		{"nothing there", "server: https://" + closed, "", "", 1,
			"discover the API: GET https://CLOSED/api: dial tcp CLOSED: connect: connection refused; nothing listens there: is the cluster up, and are --server, --context and the kubeconfig right?"},
		{"no proxy there", "server: " + secure.URL + ", " + ca + ", proxy-url: 'http://user:hush@" + closed + "'", "token: sesame", "", 1,
			"discover the API: GET SECURE/api: through the proxy http://CLOSED: cannot reach it: dial tcp CLOSED: connect: connection refused; check proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY"},
		{"no SOCKS proxy there", "server: " + secure.URL + ", " + ca + ", proxy-url: 'socks5://user:hush@" + closed + "'", "token: sesame", "", 1,
			"discover the API: GET SECURE/api: through the proxy socks5://CLOSED: cannot reach it: dial tcp CLOSED: connect: connection refused; check proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY"},
		{"a proxy that refuses", "server: " + secure.URL + ", " + ca + ", proxy-url: '" + refusing + "'", "token: sesame", "", 1,
			"discover the API: GET SECURE/api: through the proxy REFUSING: the proxy refuses to connect to SECUREHOST (403 forbidden): have it allow that, or name the server in NO_PROXY"},
		{"a proxy that wants to know us", "server: " + secure.URL + ", " + ca + ", proxy-url: '" + asking + "'", "token: sesame", "", 1,
			"discover the API: GET SECURE/api: through the proxy ASKING: the proxy refuses to connect to SECUREHOST (407 proxy authentication required): put its user and password into its URL"},
		{"a login page", "server: " + login, "", "", 1,
			"discover the API: GET LOGIN/api responded with \"text/html\" instead of JSON: this is not a Kubernetes API server, or a proxy responds in its place; check the server address and the proxy settings"},
		{"a redirect", "server: " + away, "", "", 1,
			"discover the API: GET AWAY/api: server: a redirect to another host or scheme, which could get the credentials: not followed (302)"},
		{"silence", "server: " + mute, "", "--request-timeout=50ms", 1,
			"discover the API: GET MUTE/api: the server was silent for too long: nothing for 50ms; the server did not answer in time: check --server and the network, or give a longer --request-timeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := append([]string{"list", "pods", "-q", "--kubeconfig", kubeconfigOf(t, test.cluster, test.user)}, strings.Fields(test.args)...)
			code, stdout, stderr := runAtHome(t, args...)
			for _, place := range [][2]string{{secure.URL, "SECURE"}, {mutual.URL, "MUTUAL"}, {"http" + strings.TrimPrefix(secure.URL, "https"), "PLAINSECURE"},
				{"https" + strings.TrimPrefix(plain.URL, "http"), "TLSPLAIN"}, {closed, "CLOSED"}, {strings.TrimPrefix(secure.URL, "https://"), "SECUREHOST"}, {refusing, "REFUSING"}, {asking, "ASKING"}, {login, "LOGIN"}, {away, "AWAY"}, {mute, "MUTE"}} {
				stderr = strings.ReplaceAll(stderr, place[0], place[1])
			}
			stderr = regexp.MustCompile(`127\.0\.0\.1:\d+->`).ReplaceAllString(stderr, "")
			if code != test.code || stdout != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, test.code, stdout)
			}
			if diff := cmp.Diff("listwatch: "+test.want+"\n", stderr); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAdviceOnNetworks: failures that cannot be had on a loopback.
func TestAdviceOnNetworks(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "nowhere"}, "check --server or the kubeconfig, and the network"},
	} {
		if got := auth.Advice(fmt.Errorf("get: %w", test.err), client.Config{}); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}
