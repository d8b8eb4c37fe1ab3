package cluster

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
)

// pki is a CA and one serving certificate, made for each cluster.
type pki struct {
	ca                        *CA // also of client certificates
	pool                      *x509.CertPool
	caPEM                     []byte
	caFile, certFile, keyFile string
}

func newPKI(dir string) (*pki, error) {
	ca, err := NewCA("listwatch e2e CA")
	if err != nil {
		return nil, err
	}
	cert, key, err := ca.Issue(x509.Certificate{
		Subject:  pkix.Name{CommonName: "kube-apiserver"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	p := &pki{
		ca:       ca,
		pool:     x509.NewCertPool(),
		caPEM:    ca.PEM(),
		caFile:   filepath.Join(dir, "ca.crt"),
		certFile: filepath.Join(dir, "serving.crt"),
		keyFile:  filepath.Join(dir, "serving.key"),
	}
	p.pool.AppendCertsFromPEM(p.caPEM)
	for _, file := range []struct {
		path string
		data []byte
	}{{p.caFile, p.caPEM}, {p.certFile, cert}, {p.keyFile, key}} {
		if err := os.WriteFile(file.path, file.data, 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}
