package cluster

import (
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// CAFile returns the path of the PEM file with the CA of the serving
// certificate, which is valid for 127.0.0.1, ::1 and localhost.
func (c *Cluster) CAFile() string { return c.pki.caFile }

// CAPEM returns what is in CAFile.
func (c *Cluster) CAPEM() []byte { return c.pki.caPEM }

// CA returns the CA of the serving certificate. The apiserver takes client
// certificates of it too.
func (c *Cluster) CA() *CA { return c.pki.ca }

// Token returns the bearer token of a user in system:masters, who may do
// everything.
func (c *Cluster) Token() string { return c.admin }

// UserToken returns the bearer token of the user "jane", who may do nothing
// but discovery until the test gives her rights.
func (c *Cluster) UserToken() string { return c.user }

// HTTPClient returns the client, one for all callers, that trusts the CA and
// sends Token with every request. It has no timeout of its own. It speaks to
// a Proxy in front of the cluster as well.
func (c *Cluster) HTTPClient() *http.Client { return c.client }

// Kubeconfig writes a kubeconfig for Token at path, mode 0600, that speaks to
// server: c.URL(), or the URL of a Proxy.
func (c *Cluster) Kubeconfig(path, server string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: e2e
clusters:
- name: e2e
  cluster:
    server: %s
    certificate-authority: %s
users:
- name: admin
  user:
    token: %s
contexts:
- name: e2e
  context:
    cluster: e2e
    user: admin
    namespace: default
`, server, c.CAFile(), c.admin)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

func (c *Cluster) writeTokens() error {
	text := fmt.Sprintf("%s,admin,admin,system:masters\n%s,jane,jane\n", c.admin, c.user)
	return os.WriteFile(filepath.Join(c.dir, "tokens.csv"), []byte(text), 0o600)
}

// Transport returns a transport that trusts the CA and sends no credentials.
// It is the one beneath HTTPClient: Clone it to have connections of your own.
func (c *Cluster) Transport() *http.Transport { return c.transport }

// Authorize returns a round tripper that sends Token with every request.
func (c *Cluster) Authorize(next *http.Transport) http.RoundTripper {
	return &bearer{token: c.admin, next: next}
}

func (c *Cluster) newTransport() *http.Transport {
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: c.pki.pool, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     30 * time.Second,
	}
}

// bearer adds the Authorization header.
type bearer struct {
	token string
	next  *http.Transport
}

func (b *bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(req)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections through.
func (b *bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }

func randomToken() string { return rand.Text() }
