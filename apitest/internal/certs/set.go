package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/network"
)

// Set is the set of certificates of one server: a CA, a server and a client
// certificate, and server certificates that no client should accept.
type Set struct {
	untrusted, outdated identity
	clientCerts         bool // request client certificates
	ips                 []net.IP
	names               []string // of the server, besides the loopback's

	mu      sync.Mutex
	ca      identity
	client  identity
	server  identity
	serial  int64 // of the last server certificate
	rotated bool
}

type identity struct {
	leaf            *x509.Certificate
	key             *ecdsa.PrivateKey
	pair            tls.Certificate
	certPEM, keyPEM []byte
}

// New returns the certificates of a server that clients reach on the loopback and at
// ips and names.
func New(clientCerts bool, ips []net.IP, names []string) (*Set, error) {
	ids := &Set{clientCerts: clientCerts, ips: ips, names: names}
	ca, client := caTemplate(), clientTemplate()
	outdated := ids.serving(3)
	outdated.NotBefore, outdated.NotAfter = ca.NotBefore, ca.NotBefore.Add(time.Minute)
	var stranger identity
	for _, v := range []struct {
		id, ca   *identity
		template *x509.Certificate
	}{{&ids.ca, &ids.ca, ca}, {&ids.client, &ids.ca, client}, {&ids.outdated, &ids.ca, outdated},
		{&stranger, &stranger, ca}, {&ids.untrusted, &stranger, ids.serving(3)}} {
		if err := v.id.issue(v.template, v.ca); err != nil {
			return nil, err
		}
	}
	ids.serial = 3
	return ids, ids.Rotate()
}

// serving returns a server certificate to sign.
func (i *Set) serving(serial int64) *x509.Certificate {
	t := template(serial, "apitest")
	t.IPAddresses = append(t.IPAddresses, i.ips...)
	t.DNSNames = append(t.DNSNames, i.names...)
	return t
}

// template returns a certificate to sign.
func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:    []string{"localhost", "apitest.invalid"},
	}
}

// Rotate issues another server certificate for new connections.
func (i *Set) Rotate() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reissue(&i.server, i.serving(0))
}

// RotateClient issues another client certificate, which is the only valid one from then
// on.
func (i *Set) RotateClient() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reissue(&i.client, clientTemplate())
}

// RotateCA replaces the CA, and all certificates that it signs.
func (i *Set) RotateCA() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	err := i.reissue(&i.ca, caTemplate())
	if err == nil {
		err = i.reissue(&i.server, i.serving(0))
	}
	if err == nil {
		err = i.reissue(&i.client, clientTemplate())
	}
	return err
}

// reissue replaces id. The caller holds mu.
func (i *Set) reissue(id *identity, t *x509.Certificate) error {
	i.serial++
	i.rotated = i.server.leaf != nil
	t.SerialNumber = big.NewInt(i.serial)
	var fresh identity // certificates in use do not change
	signer := &i.ca
	if id == &i.ca {
		signer = &fresh
	}
	err := fresh.issue(t, signer)
	*id = fresh
	return err
}

func caTemplate() *x509.Certificate {
	ca := template(1, "apitest CA")
	ca.IsCA, ca.KeyUsage, ca.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
	return ca
}

func clientTemplate() *x509.Certificate {
	client := template(2, "apitest-client")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return client
}

// issue signs template by the CA; the CA, which comes first, by itself.
func (i *identity) issue(template *x509.Certificate, ca *identity) error {
	var err error
	if i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	parent, signer := template, i.key
	if ca.leaf != nil {
		parent, signer = ca.leaf, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &i.key.PublicKey, signer)
	if err != nil {
		return err
	}
	if i.leaf, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	keyDER, err := x509.MarshalECPrivateKey(i.key)
	if err != nil {
		return err
	}
	i.certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	i.keyPEM = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	i.pair = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key, Leaf: i.leaf}
	return nil
}

// ServerConfig returns the configuration of the server, which follows each rotation.
func (i *Set) ServerConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if i.clientCerts {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		door := network.Open
		if c, ok := hello.Conn.(*network.Conn); ok {
			door = c.Came
		}
		return i.configFor(c, door), nil
	}
	return c
}

// configFor returns the configuration of a connection in a state of the listener.
func (i *Set) configFor(base *tls.Config, door network.State) *tls.Config {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := base.Clone()
	c.GetConfigForClient = nil
	c.ClientCAs = x509.NewCertPool()
	c.ClientCAs.AddCert(i.ca.leaf)
	c.NextProtos = []string{"h2", "http/1.1"}
	// A resumed session sends no certificate: disable resumption where that matters.
	c.SessionTicketsDisabled = i.rotated || door != network.Open
	shown := &i.server
	switch door {
	case network.Untrusted:
		shown = &i.untrusted
	case network.Outdated:
		shown = &i.outdated
	case network.HTTP1:
		c.NextProtos = c.NextProtos[1:]
	}
	c.Certificates = []tls.Certificate{shown.pair}
	return c
}

// Knows reports whether cert is the current client certificate.
func (i *Set) Knows(cert *x509.Certificate) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return cert.Equal(i.client.leaf)
}

// ClientConfig returns a configuration that trusts the server and has the client
// certificate.
func (i *Set) ClientConfig(withCert bool) *tls.Config {
	i.mu.Lock()
	defer i.mu.Unlock()
	pool := x509.NewCertPool()
	pool.AddCert(i.ca.leaf)
	c := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if withCert {
		c.Certificates = []tls.Certificate{i.client.pair}
	}
	return c
}

// CAPEM returns the current CA certificate.
func (i *Set) CAPEM() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ca.certPEM
}

// ClientPEM returns the current client certificate and its key.
func (i *Set) ClientPEM() (cert, key []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.client.certPEM, i.client.keyPEM
}
