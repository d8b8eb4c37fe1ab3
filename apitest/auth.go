package apitest

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// authorised adds the server's own token.
type authorised struct {
	srv  *Server
	next *http.Transport
}

func (a *authorised) RoundTrip(r *http.Request) (*http.Response, error) {
	if token := a.srv.Token(); token != "" && r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return a.next.RoundTrip(r)
}

func (a *authorised) CloseIdleConnections() { a.next.CloseIdleConnections() }

// Token returns the bearer token that requests need now, "" if they need none.
func (s *Server) Token() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// SetToken replaces the bearer token that requests need: the old one gets 401. Open
// streams continue.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// authenticated reports whether r has valid credentials.
func (s *Server) authenticated(r *http.Request) bool {
	token := s.Token()
	if token == "" && !s.options.ClientCerts {
		return true
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && (s.ids == nil || s.ids.Knows(r.TLS.PeerCertificates[0])) {
		return true
	}
	return token != "" && r.Header.Get("Authorization") == "Bearer "+token
}

// CAPEM returns the certificate of the CA that signed the server's certificate; nil
// without TLS.
func (s *Server) CAPEM() []byte {
	if s.ids == nil {
		return nil
	}
	return s.ids.CAPEM()
}

// ClientCertPEM returns a client certificate that the server accepts and its key; nil
// without TLS.
func (s *Server) ClientCertPEM() (cert, key []byte) {
	if s.ids == nil {
		return nil, nil
	}
	return s.ids.ClientPEM()
}

// Kubeconfig returns a kubeconfig for the server: its URL, CA, and the current token
// and client certificate.
func (s *Server) Kubeconfig() []byte {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			b.WriteString("    " + key + ": " + value + "\n")
		}
	}
	data := base64.StdEncoding.EncodeToString
	b.WriteString("apiVersion: v1\nkind: Config\ncurrent-context: apitest\nclusters:\n- name: apitest\n  cluster:\n")
	line("server", s.URL)
	line("certificate-authority-data", data(s.CAPEM()))
	b.WriteString("contexts:\n- name: apitest\n  context:\n    cluster: apitest\n    user: apitest\n    namespace: default\nusers:\n- name: apitest\n  user:\n")
	line("token", s.Token())
	if s.options.ClientCerts {
		cert, key := s.ClientCertPEM()
		line("client-certificate-data", data(cert))
		line("client-key-data", data(key))
	}
	if s.Token() == "" && !s.options.ClientCerts {
		line("username", "apitest") // not used
	}
	return []byte(b.String())
}
