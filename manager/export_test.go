package manager

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
)

// ReadyText returns what /readyz answers.
func (m *Manager) ReadyText() string {
	w := httptest.NewRecorder()
	m.readyz(w, nil)
	return w.Body.String()
}

// Server returns the server of the listener.
func (m *Manager) Server() *http.Server { return m.server() }

// What the tests of signals look at.
const SentTwice = sentTwice

var StopOnSignal = stopOnSignal

// Certificate returns what serves for the listener.
func (s *Secure) Certificate(log *slog.Logger) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	return s.certificate(log)
}

// Guard returns a handler of the metrics, and a function that ends its connections.
func (s *Secure) Guard(metrics http.Handler, log *slog.Logger) (h http.Handler, end func()) {
	g := newGate(s, log)
	return g.before(metrics), g.client.CloseIdleConnections
}

// GuardOf is Guard with a function that returns how many tokens are remembered.
func (s *Secure) GuardOf(metrics http.Handler, log *slog.Logger) (h http.Handler, known func() int, end func()) {
	g := newGate(s, log)
	return g.before(metrics), func() int { g.mu.Lock(); defer g.mu.Unlock(); return len(g.known) }, g.client.CloseIdleConnections
}
