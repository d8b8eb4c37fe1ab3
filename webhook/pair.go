package webhook

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"time"
)

// skew is how wrong the clocks of replicas and API servers may be. A certificate is valid
// from so long before its issue, and a CA stays in the bundles for so long after its end.
const skew = 7 * 24 * time.Hour

// Limits of what is read from the Secret, files and configurations.
const (
	maxPEM    = 256 << 10 // bytes
	maxBundle = 16        // CAs
	maxHosts  = 16        // of a certificate
)

// pair is a serving certificate with its key, and the CA that signed it. A CA signs one
// certificate, then its key is discarded.
type pair struct {
	certPEM, keyPEM []byte
	tls             *tls.Certificate
	leaf            *x509.Certificate
	ca              *x509.Certificate // nil for a pair of files
}

// issue makes a CA and a certificate for hosts.
func issue(hosts []string, now time.Time, lifetime time.Duration) (*pair, error) {
	template := func(name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
		return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime)}, key, err
	}
	ca, caKey, err := template("listwatch webhook CA " + rand.Text()[:10]) // subjects of CAs must differ
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero, ca.KeyUsage = true, true, true, x509.KeyUsageCertSign
	leaf, key, err := template(hosts[0])
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("make a CA: %w", err)
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	chain := append(encode("CERTIFICATE", leafDER), encode("CERTIFICATE", caDER)...)
	return parsePair(chain, encode("PRIVATE KEY", keyDER))
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// parsePair reads a pair with its CA. Errors have no part of the key.
func parsePair(cert, key []byte) (*pair, error) {
	p, err := parseFiles(cert, key)
	if err != nil {
		return nil, err
	}
	if len(p.tls.Certificate) != 2 {
		return nil, errors.New("the certificate has no CA after it")
	}
	if p.ca, err = x509.ParseCertificate(p.tls.Certificate[1]); err != nil {
		return nil, errors.New("the CA is not valid")
	}
	if err := p.leaf.CheckSignatureFrom(p.ca); err != nil {
		return nil, errors.New("the CA has not signed the certificate")
	}
	return p, nil
}

// parseFiles reads a pair that somebody else has made.
func parseFiles(cert, key []byte) (*pair, error) {
	if len(cert) > maxPEM || len(key) > maxPEM {
		return nil, fmt.Errorf("the certificate or its key is larger than %d bytes", maxPEM)
	}
	c, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, errors.New("the certificate and its key are not valid, or do not match")
	}
	return &pair{certPEM: cert, keyPEM: key, tls: &c, leaf: c.Leaf}, nil
}

// valid reports whether p is valid now. The clock of the replica that issued it may be ahead.
func (p *pair) valid(now time.Time) bool {
	return p != nil && !now.Before(p.leaf.NotBefore) && now.Before(p.leaf.NotAfter)
}

// same reports whether both have the same certificate. Either may be nil.
func (p *pair) same(o *pair) bool {
	return p == o || p != nil && o != nil && bytes.Equal(p.certPEM, o.certPEM)
}

// serves reports whether p is for all hosts.
func (p *pair) serves(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(h string) bool { return p.leaf.VerifyHostname(h) != nil })
}

// hosts returns the names and addresses of p.
func (p *pair) hosts() []string {
	names := slices.Clone(p.leaf.DNSNames)
	for _, ip := range p.leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// mark identifies a CA.
func mark(ca *x509.Certificate) string {
	sum := sha256.Sum256(ca.Raw)
	return hex.EncodeToString(sum[:])
}

// bundle is a set of CAs, by mark.
type bundle map[string]*x509.Certificate

// parseBundle reads CAs, and ignores what is none.
func parseBundle(b []byte) bundle {
	out := bundle{}
	if len(b) > maxPEM {
		return out
	}
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			return out
		}
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			out[mark(ca)] = ca
		}
	}
}

// with returns the CAs of both, without those that have certainly expired for everybody.
// Above the limit, all of b have precedence, then those that end last.
func (b bundle) with(others bundle, now time.Time) bundle {
	out := bundle{}
	for _, set := range []bundle{b, others} {
		for _, ca := range slices.Backward(set.sorted()) {
			if len(out) < maxBundle && now.Before(ca.NotAfter.Add(skew)) {
				out[mark(ca)] = ca
			}
		}
	}
	return out
}

// has reports whether b has all of others.
func (b bundle) has(others bundle) bool {
	for m := range others {
		if b[m] == nil {
			return false
		}
	}
	return true
}

// holds reports whether b has the CA of p.
func (b bundle) holds(p *pair) bool { return b[mark(p.ca)] != nil }

// pem returns the bundle in a fixed order.
func (b bundle) pem() []byte {
	var out []byte
	for _, ca := range b.sorted() {
		out = append(out, encode("CERTIFICATE", ca.Raw)...)
	}
	return out
}

// sorted returns the CAs by their ends.
func (b bundle) sorted() []*x509.Certificate {
	return slices.SortedFunc(maps.Values(b), func(x, y *x509.Certificate) int {
		if c := x.NotAfter.Compare(y.NotAfter); c != 0 {
			return c
		}
		return bytes.Compare(x.Raw, y.Raw)
	})
}
