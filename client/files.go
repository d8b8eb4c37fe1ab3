package client

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/internal/disk"
)

// Files are compared by content: Kubernetes and cert-manager replace a link in their
// path, which does not change their times. Each of these functions returns old if the
// content has not changed or is invalid.

// roots are the trusted authorities.
type roots struct {
	pem  []byte
	pool *x509.CertPool
}

func (t TLS) readRoots(old *roots) (*roots, error) {
	b, err := dataOrFile(t.CAData, t.CAFile, "certificate authority")
	if err != nil || b == nil || old != nil && bytes.Equal(b, old.pem) {
		return old, err
	}
	now := &roots{b, x509.NewCertPool()}
	if !now.pool.AppendCertsFromPEM(b) {
		return old, fmt.Errorf("client: certificate authority %s: no PEM certificate in it", nameOf(t.CAFile, t.CAData))
	}
	return now, nil
}

// pair is a client certificate with its key.
type pair struct {
	cert, key []byte // as read; nil = from a Source
	parsed    *tls.Certificate
}

// readPair refuses a certificate and a key that do not match, as when only one of two
// files has been written: the next call reads both.
func (t TLS) readPair(old *pair) (*pair, error) {
	cert, err := dataOrFile(t.CertData, t.CertFile, "client certificate")
	if err != nil {
		return old, err
	}
	key, err := dataOrFile(t.KeyData, t.KeyFile, "client key")
	switch {
	case err != nil:
		return old, err
	case cert == nil && key == nil:
		return old, nil
	case cert == nil || key == nil:
		return old, errors.New("client: a client certificate and its key must both be given")
	case old != nil && bytes.Equal(cert, old.cert) && bytes.Equal(key, old.key):
		return old, nil
	}
	parsed, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return old, fmt.Errorf("client: client certificate %s with key %s: %w", nameOf(t.CertFile, t.CertData), nameOf(t.KeyFile, t.KeyData), err)
	}
	return &pair{cert, key, &parsed}, nil
}

func readToken(path, old string) (string, error) {
	b, err := disk.ReadFile(path, maxFile)
	if err != nil {
		return old, fmt.Errorf("client: read token file: %w", err)
	}
	switch tok := strings.TrimSpace(string(b)); {
	case tok == "":
		return old, fmt.Errorf("client: token file %s is empty", path)
	case isToken(tok):
		return tok, nil
	}
	return old, fmt.Errorf("client: token file %s holds more than one line, or a character that is not printable ASCII", path)
}

// isToken reports whether a header can have a token.
func isToken(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func dataOrFile(data []byte, file, what string) ([]byte, error) {
	switch {
	case len(data) > 0:
		return data, nil
	case file == "":
		return nil, nil
	}
	b, err := disk.ReadFile(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("client: read %s: %w", what, err)
	}
	return b, nil
}

// maxFile limits a file that a kubeconfig names, in bytes: it may be a device without
// an end. The authorities of a whole system take a quarter of a megabyte.
const maxFile = 4 << 20

func nameOf(file string, data []byte) string {
	if len(data) > 0 {
		return "(inline data)"
	}
	return cmp.Or(file, "(none)")
}
