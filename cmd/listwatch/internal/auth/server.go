package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// seen is what a connection shows besides answers.
type seen struct {
	longest time.Duration // that an answer may take in whole

	mu      sync.Mutex
	address string
	proto   string
	tls     *tls.ConnectionState
	skew    time.Duration // our clock is ahead of the server's by so much
}

func (s *seen) wrap(next http.RoundTripper) http.RoundTripper { return &looking{next, s} }

// endlessError ends an answer that comes byte by byte: --request-timeout bounds only silence.
type endlessError struct{ after time.Duration }

func (e *endlessError) Error() string {
	return fmt.Sprintf("the answer has not ended after %v", e.after)
}

func (*endlessError) Unwrap() error { return context.DeadlineExceeded }

// body is that of an answer that ctx ends.
type body struct {
	io.ReadCloser
	ctx    context.Context // of the request; only its cause is used
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if cause := context.Cause(b.ctx); err != nil && errors.As(cause, new(*endlessError)) {
		err = cause
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// looking is a round tripper that looks at connections, and bounds the time of an answer. Of
// requests it keeps nothing.
type looking struct {
	http.RoundTripper
	seen *seen
}

// RoundTrip implements http.RoundTripper.
func (l *looking) RoundTrip(req *http.Request) (*http.Response, error) {
	s := l.seen
	ctx, cancel := context.WithTimeoutCause(req.Context(), s.longest, &endlessError{s.longest})
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.address = i.Conn.RemoteAddr().String()
	}})
	resp, err := l.RoundTripper.RoundTrip(req.WithContext(ctx))
	s.mu.Lock()
	defer s.mu.Unlock()
	var broken *tls.CertificateVerificationError
	if errors.As(err, &broken) && len(broken.UnverifiedCertificates) > 0 {
		s.tls = &tls.ConnectionState{PeerCertificates: broken.UnverifiedCertificates}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &body{resp.Body, ctx, cancel}
	s.proto, s.tls = resp.Proto, resp.TLS
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		s.skew = time.Since(at) - time.Second/2 // it has whole seconds
	}
	return resp, nil
}

// skewed is how far clocks may be apart before that is worth a word: tokens and
// certificates that were just issued would not be valid yet.
const skewed = 30 * time.Second

// server asks the server for its version, which nearly everybody may know.
func (c *check) server(ctx context.Context) error {
	step := &c.report.Server
	step.URL = c.client.Server()
	step.Proxy = proxyOf(c.cfg.Client)
	version, err := versionOf(ctx, c.client, c.talk.Hide)
	c.saw(step)
	var st *kube.Status
	if errors.As(err, &st) && (st.Code == http.StatusUnauthorized || st.Code == http.StatusForbidden || st.Code == http.StatusNotFound) {
		step.Status = statusOK // it is there; who we are is the next question
		return nil
	}
	if err != nil {
		step.fail(err, c.advice(err))
		return exit.Failed(fmt.Errorf("auth check: %w", err))
	}
	step.Version = version
	return nil
}

func versionOf(ctx context.Context, cl *client.Client, hide func(string) string) (string, error) {
	resp, err := cl.Do(ctx, &client.Request{Path: "/version"})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	switch err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&v); {
	case errors.As(err, new(*endlessError)):
		return "", fmt.Errorf("GET %s/version: %w", cl.Server(), err)
	case err != nil:
		return "", fmt.Errorf("GET %s/version: the answer is not JSON: this is not a Kubernetes API server", cl.Server())
	}
	return printable.Clip(hide(printable.Line(v.GitVersion))), nil
}

// saw puts down what the connection showed.
func (c *check) saw(step *serverReport) {
	s := c.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	step.Status, step.Protocol, step.Address = statusOK, s.proto, s.address
	switch {
	case s.tls != nil && s.tls.Version != 0:
		step.Protocol += ", " + tls.VersionName(s.tls.Version)
	case s.tls == nil && s.proto != "":
		step.Protocol += ", without TLS"
	}
	if s.tls != nil && len(s.tls.PeerCertificates) > 0 {
		cert := s.tls.PeerCertificates[0]
		step.Certificate = &certificate{Subject: nameIn(cert.Subject.CommonName, cert.Subject.Organization), Names: certificateNames(cert),
			Issuer: nameIn(cert.Issuer.CommonName, cert.Issuer.Organization), NotAfter: cert.NotAfter.UTC().Format(time.RFC3339)}
		if len(s.tls.VerifiedChains) > 0 {
			step.Certificate.VerifiedBy = c.trusted()
		} else if s.proto != "" {
			step.warn("the certificate was not verified: anybody in between can read and change everything")
		}
	}
	if s.skew.Abs() > skewed {
		step.ClockSkew = int(s.skew.Round(time.Second).Seconds())
		side := "ahead of"
		if s.skew < 0 {
			side = "behind"
		}
		step.warn(fmt.Sprintf("the clock of this machine is %s %s the server's: tokens and certificates may be taken for expired or not yet valid",
			printable.Rough(s.skew.Abs()), side))
	}
}

// trusted says which CA verified the server.
func (c *check) trusted() string {
	switch t := c.cfg.Client.TLS; {
	case len(t.CAData) > 0:
		return "the CA in the kubeconfig"
	case t.CAFile != "":
		return "the CA in " + t.CAFile
	}
	return "the CAs of this system"
}

func certificateNames(cert *x509.Certificate) []string {
	var names []string
	for _, n := range cert.DNSNames {
		names = append(names, printable.Line(n))
	}
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return names
}
