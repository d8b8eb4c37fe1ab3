package manager

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
)

// Secure makes the listener of a Manager serve TLS, and can restrict who may read /metrics, as
// kube-rbac-proxy does. The zero value serves TLS only.
type Secure struct {
	// CertFile and KeyFile are a certificate and its key, in PEM. They are read again when
	// they change, for instance by cert-manager; while the new ones are invalid, the previous
	// ones stay in use. Default: a self-signed certificate, which clients cannot verify.
	CertFile, KeyFile string

	// GetCertificate is used instead of files. The GetCertificate of a webhook.Server, for
	// instance, returns a certificate for the name of its Service.
	GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// Client, if set, restricts /metrics. A request needs a bearer token that the API server
	// accepts in a TokenReview, otherwise it gets 401, and the user must have the right to
	// "get" the path /metrics in a SubjectAccessReview, otherwise it gets 403. A permission is
	// cached for a minute, a refusal for ten seconds. A request gets 429 if four from the same
	// address are waiting for reviews. The client needs the right to create both reviews, which
	// ClusterRole system:auth-delegator grants. The reviews use their own connections, and no rate
	// limit. /healthz and /readyz need no token, because kubelets send none.
	Client *client.Client

	// Audiences: the token must have at least one of them. Default: those of the API server.
	Audiences []string
}

// listen returns l with TLS.
func (s *Secure) listen(l net.Listener, log *slog.Logger) (net.Listener, error) {
	get, err := s.certificate(log)
	if err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	return tls.NewListener(l, &tls.Config{GetCertificate: get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// certificate returns the GetCertificate of a tls.Config.
func (s *Secure) certificate(log *slog.Logger) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	switch {
	case (s.CertFile == "") != (s.KeyFile == ""):
		return nil, errors.New("Secure.CertFile and KeyFile must both be set")
	case s.CertFile != "" && s.GetCertificate != nil:
		return nil, errors.New("Secure has both files and GetCertificate")
	case s.GetCertificate != nil:
		return s.GetCertificate, nil
	case s.CertFile != "":
		f := &files{cert: s.CertFile, key: s.KeyFile, log: log}
		return f.get, f.load()
	}
	own, err := selfSigned(time.Now())
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil }, nil
}

// files is a certificate in files, which another program renews.
type files struct {
	cert, key string
	log       *slog.Logger

	mu        sync.Mutex
	read      time.Time
	text      [2][]byte // content of the files
	served    *tls.Certificate
	complaint string // the last logged error; empty = none since the last success
}

// recheck is the time between two reads of the files.
const recheck = 10 * time.Second

// maxPEM limits each file in bytes.
const maxPEM = 256 << 10

// get is the GetCertificate of a tls.Config.
func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	due := time.Since(f.read) >= recheck
	if due {
		f.read = time.Now()
	}
	f.mu.Unlock()
	if due {
		f.complain(f.load())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served, nil
}

// load reads the files. Its errors contain no part of the key.
func (f *files) load() error {
	var text [2][]byte
	for n, name := range []string{f.cert, f.key} {
		b, err := readFile(name)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		text[n] = b
	}
	f.mu.Lock()
	same := f.served != nil && bytes.Equal(text[0], f.text[0]) && bytes.Equal(text[1], f.text[1])
	f.mu.Unlock()
	if same {
		return nil
	}
	pair, err := tls.X509KeyPair(text[0], text[1])
	if err != nil {
		return fmt.Errorf("%s and %s are not a certificate and its key", f.cert, f.key)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served, f.text, f.read = &pair, text, time.Now()
	return nil
}

// complain logs an error unless it was the last one logged.
func (f *files) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	f.mu.Lock()
	changed := text != f.complaint
	f.complaint = text
	f.mu.Unlock()
	if changed && err != nil {
		f.log.Warn("the certificate cannot be renewed; serving by the last one", "err", err)
	}
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err == nil && len(b) > maxPEM {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxPEM)
	}
	return b, err
}

// selfSigned returns a certificate for ten years, longer than any process runs.
func selfSigned(now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "listwatch manager"}, DNSNames: []string{"localhost"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
