package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/guard"
)

const (
	maxConnections = 500         // of the listener, half of them from one address
	answerTime     = time.Minute // for a response, which holds memory until it is read
)

// server returns the server of the listener, and sets gate.
func (m *Manager) server() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", m.healthz)
	mux.HandleFunc("GET /readyz", m.readyz)
	if m.o.Metrics != nil {
		mux.Handle("GET /metrics", m.guarded(m.o.Metrics))
	}
	return &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: answerTime, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelDebug)} // TLS handshakes: any client can make one fail
}

// serve starts the listener, or returns a server that does nothing. All parts are stopped
// if the listener fails later: the process could not answer its probes.
func (m *Manager) serve(stop context.CancelCauseFunc) (*http.Server, error) {
	server := m.server()
	if m.o.Listen == "" {
		return server, nil
	}
	l, err := net.Listen("tcp", m.o.Listen)
	if err != nil {
		return nil, fmt.Errorf("manager: listen: %w", err)
	}
	l = guard.Share(l, maxConnections)
	if m.o.Secure != nil {
		secured, err := m.o.Secure.listen(l, m.log)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l = secured
	}
	m.mu.Lock()
	m.address = l.Addr().String()
	m.mu.Unlock()
	m.log.Info("serving", "address", l.Addr().String())
	m.serving.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			m.log.Error("stopping, because the listener failed", "address", l.Addr().String(), "err", err)
			m.endBy(fmt.Errorf("listen: %w", err), stop)
		}
	})
	return server, nil
}

// guarded returns metrics behind a gate, if Secure.Client is set.
func (m *Manager) guarded(metrics http.Handler) http.Handler {
	if m.o.Secure == nil || m.o.Secure.Client == nil {
		return metrics
	}
	m.gate = newGate(m.o.Secure, m.log)
	return m.gate.before(metrics)
}

// Address returns the address of the listener, with its port; empty if there is none.
func (m *Manager) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.address
}

// healthz fails only if a restart is necessary: if Check of the Elector or of a part does.
func (m *Manager) healthz(w http.ResponseWriter, _ *http.Request) {
	var checks []check
	if m.o.Elector != nil {
		checks = append(checks, check{"leader election", m.o.Elector.Check})
	}
	m.mu.Lock()
	parts := m.current()
	m.mu.Unlock()
	for _, p := range parts {
		if live, ok := p.Runner.(interface{ Check() error }); ok {
			checks = append(checks, check{nameOf(p.Runner), live.Check})
		}
	}
	m.answer(w, checks)
}

// current returns the parts that run now; m.mu is locked.
func (m *Manager) current() []*part {
	parts := slices.Concat(m.always.parts, m.asked.parts)
	if m.leading {
		parts = append(parts, m.led.parts...)
	}
	return parts
}

// readyz fails until the caches are filled, while one of them is stale or has ended,
// while the server refuses the requests for the lease, until the controllers work if
// this process leads, and when the Manager is stopping.
func (m *Manager) readyz(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	checks := append([]check(nil), m.checks...)
	parts := m.current()
	if m.stopping {
		checks = append(checks, check{"manager", func() error { return errStopping }})
	}
	m.mu.Unlock()
	if ready, ok := m.o.Elector.(interface{ Ready() error }); ok {
		checks = append(checks, check{"leader election", ready.Ready})
	}
	for _, p := range parts {
		if ready, ok := p.Runner.(interface{ Ready() error }); ok && !p.optional {
			checks = append(checks, check{nameOf(p.Runner), ready.Ready})
		}
	}
	m.answer(w, checks)
}

var errStopping = errors.New("it is stopping")

// answer reports the state of each check, in the format of the API server's probes.
func (m *Manager) answer(w http.ResponseWriter, checks []check) {
	var text strings.Builder
	code := http.StatusOK
	for _, c := range checks {
		if err := m.ask(c); err != nil {
			code = http.StatusServiceUnavailable
			fmt.Fprintf(&text, "[-]%s: %v\n", c.name, err)
		} else {
			fmt.Fprintf(&text, "[+]%s ok\n", c.name)
		}
	}
	if code == http.StatusOK {
		text.WriteString("ok\n")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text.String())
}

// ask returns the result of c. A panic is logged: a probe shows no more than the code.
func (m *Manager) ask(c check) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
			m.log.Error("a check panicked", "check", c.name, "err", v, "stack", string(debug.Stack()))
		}
	}()
	return c.f()
}
