package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/guard"
)

// Limits of the listener.
const (
	maxConnections = 200         // half of them from one address
	maxStreams     = 50          // requests at a time on a connection
	maxUnread      = 64 << 10    // bytes of a body that come before they are read
	takeTime       = time.Minute // in which a connection of HTTP/2 must take something
)

// windows returns the limits of a connection over HTTP/2. Bodies that wait for the budget
// are not read: together they leave room on the connection for one that has it. Each
// stream holds some 12 KB; API servers open another connection where one is full.
func windows() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: maxUnread, MaxReceiveBufferPerConnection: (maxStreams + 1) * maxUnread, WriteByteTimeout: takeTime}
}

// Run listens, obtains a certificate, and serves until ctx ends and Options.Drain has
// passed, so that requests of API servers that still use this replica are answered.
// Meanwhile it renews the certificate. Run returns nil if ctx ended it. It can be called
// once.
func (s *Server) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return errors.New("webhook server: Run was called before")
	}
	s.running = true
	s.mu.Unlock()
	l, err := s.listen()
	if err != nil {
		return fmt.Errorf("webhook server: %w", err)
	}
	s.mu.Lock()
	s.address = l.Addr().String()
	s.mu.Unlock()
	s.log.Info("serving webhooks", "address", s.Address(), "webhooks", len(s.Webhooks()))

	working, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	server := guard.Server(working, s.Handler())
	server.HTTP2 = windows()
	var all sync.WaitGroup
	all.Go(func() { s.keep(working) })
	failed := make(chan error, 1)
	all.Go(func() {
		failed <- server.Serve(tls.NewListener(guard.Share(l, maxConnections), &tls.Config{GetCertificate: s.GetCertificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}))
	})
	select {
	case err = <-failed:
		err = fmt.Errorf("webhook server: %w", err)
	case <-ctx.Done():
		s.drain(server)
	}
	stop(context.Canceled)
	server.Close()
	all.Wait()
	return err
}

// StopsFirst makes a Manager wait for the end of Run before it stops informers, which the
// functions of the Server may ask as long as it drains. It does nothing.
func (s *Server) StopsFirst() {}

// drain serves for Options.Drain, and then until the requests in progress are answered.
// Connections end after their next response, not while they are idle: an API server could
// be sending a request on such a connection, and would not repeat it.
func (s *Server) drain(server *http.Server) {
	s.draining.Store(true)
	s.log.Info("draining webhooks", "for", s.options.Drain)
	time.Sleep(s.options.Drain)
	ctx, cancel := context.WithTimeout(context.Background(), defaultTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.log.Warn("webhook requests were not answered before the end", "requests", s.inFlight.Load())
	}
}

// GetCertificate returns the served certificate, for the tls.Config of another listener of
// the program, such as that of manager.Secure. It fails while there is no certificate.
func (s *Server) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving == nil {
		return nil, errStarting
	}
	return s.serving.tls, nil
}

// Handler answers the requests, for a listener other than that of Run. Over HTTP/2, the receive
// buffer of a connection of such a listener should be larger than those of all its streams
// together: while the limit of all bodies together is reached, requests wait unread.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, h := range s.list(validate, mutate, convert) {
		mux.HandleFunc("POST "+h.path, func(w http.ResponseWriter, r *http.Request) { s.answer(h, w, r) })
	}
	return guard.Prompt(mux) // the answer holds its body and itself until it is taken
}

// answer answers one request.
func (s *Server) answer(h *hook, w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), patience(r), fmt.Errorf("the webhook %s did not answer in time: %w", h.name, context.DeadlineExceeded))
	defer cancel()
	code, o, err := s.review(ctx, h, w, r)
	if err != nil {
		http.Error(w, err.Error(), code)
		o.err = err
		s.log.Debug("a request is no review", "webhook", h.name, "code", code, "err", err)
	}
	s.report(h, o)
	a := Review{Webhook: h.name, Code: code, Allowed: o.allowed, Err: o.err, Duration: time.Since(began)}
	s.eachTrace(func(t Trace) {
		if t.Reviewed != nil {
			t.Reviewed(a)
		}
	})
}

// report logs a panic, and a conversion that failed: its object cannot be read.
func (s *Server) report(h *hook, o outcome) {
	var p *panicError
	switch {
	case errors.As(o.err, &p):
		s.panics.Add(1)
		s.log.Error("a webhook panicked", "webhook", h.name, "err", p.reason(), "stack", string(p.stack))
	case o.err != nil && h.kind == convert:
		s.log.Warn("a conversion failed", "webhook", h.name, "err", o.err)
	}
}

// review reads a review, and writes the response unless it returns an error.
func (s *Server) review(ctx context.Context, h *hook, w http.ResponseWriter, r *http.Request) (int, outcome, error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return http.StatusUnsupportedMediaType, outcome{}, errors.New("the body must be application/json")
	}
	if r.ContentLength > int64(h.limit) {
		return http.StatusRequestEntityTooLarge, outcome{}, fmt.Errorf("the body is larger than %d bytes", h.limit)
	}
	if by, ok := ctx.Deadline(); ok {
		_ = http.NewResponseController(w).SetReadDeadline(by) // of the body; net/http lifts it at its end
	}
	held := share{of: s.budget, at: address(r)}
	defer held.release()
	body, err := held.read(ctx, r, h.limit)
	switch {
	case errors.Is(err, errCrowded):
		return http.StatusServiceUnavailable, outcome{}, err
	case err != nil:
		return http.StatusBadRequest, outcome{}, err
	}
	decoded := share{of: s.decoded}
	defer decoded.release()
	if !decoded.take(ctx, weight(body)) {
		return http.StatusServiceUnavailable, outcome{}, errCrowded
	}
	response, o, err := h.handle(ctx, body)
	if err != nil {
		return http.StatusBadRequest, outcome{}, err
	}
	b, err := codec.Encode(response)
	if err != nil {
		return http.StatusInternalServerError, outcome{}, errors.New("the response cannot be encoded")
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
	return http.StatusOK, o, nil
}

// address returns that of the client of r; the zero Addr if that is no IP address.
func address(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr().Unmap()
}

// patience is how long the API server waits, which it says in the query.
func patience(r *http.Request) time.Duration {
	d, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || d <= 0 {
		return defaultTimeout
	}
	return min(d, longestTimeout)
}
