package apitest

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
)

// identities are the certificates of one server: an own CA, a serving and a
// client certificate, and serving certificates that no client should take.
type identities struct {
	untrusted, outdated identity
	clientCerts         bool // are asked for
	ips                 []net.IP
	names               []string // of the server, besides the loopback's

	mu      sync.Mutex
	ca      identity
	client  identity
	server  identity
	serial  int64 // of the last serving certificate
	rotated bool
}

type identity struct {
	leaf            *x509.Certificate
	key             *ecdsa.PrivateKey
	pair            tls.Certificate
	certPEM, keyPEM []byte
}

func newIdentities(clientCerts bool, d *door) (*identities, error) {
	ids := &identities{clientCerts: clientCerts}
	ids.ips, ids.names = d.reached()
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
	return ids, ids.rotate()
}

// serving is a certificate of the server that is yet to be signed.
func (i *identities) serving(serial int64) *x509.Certificate {
	t := template(serial, "apitest")
	t.IPAddresses = append(t.IPAddresses, i.ips...)
	t.DNSNames = append(t.DNSNames, i.names...)
	return t
}

// template is a certificate that is yet to be signed.
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

// rotate issues another serving certificate, which new connections get.
func (i *identities) rotate() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reissue(&i.server, i.serving(0))
}

// rotateClient issues another client certificate, which is the only one from then on.
func (i *identities) rotateClient() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.reissue(&i.client, clientTemplate())
}

// rotateCA makes another CA, and all that it signs.
func (i *identities) rotateCA() error {
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
func (i *identities) reissue(id *identity, t *x509.Certificate) error {
	i.serial++
	i.rotated = i.server.leaf != nil
	t.SerialNumber = big.NewInt(i.serial)
	var fresh identity // what was handed out of the old one stays as it is
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

func (i *identities) serverConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if i.clientCerts {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		door := Open
		if c, ok := hello.Conn.(*conn); ok {
			door = c.came
		}
		return i.configFor(c, door), nil
	}
	return c
}

// configFor is what a connection gets that came through door.
func (i *identities) configFor(base *tls.Config, door Door) *tls.Config {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := base.Clone()
	c.GetConfigForClient = nil
	c.ClientCAs = x509.NewCertPool()
	c.ClientCAs.AddCert(i.ca.leaf)
	c.NextProtos = []string{"h2", "http/1.1"}
	// A resumed session shows no certificate: none is resumed where that matters.
	c.SessionTicketsDisabled = i.rotated || door != Open
	shown := &i.server
	switch door {
	case Untrusted:
		shown = &i.untrusted
	case Outdated:
		shown = &i.outdated
	case HTTP1:
		c.NextProtos = c.NextProtos[1:]
	}
	c.Certificates = []tls.Certificate{shown.pair}
	return c
}

// Rotate gives the server another certificate of the same CA, which new
// connections get, as when the files of a kube-apiserver are replaced.
// Connections that exist stay. Without TLS it does nothing.
func (s *Server) Rotate() {
	if s.ids == nil {
		return
	}
	if err := s.ids.rotate(); err != nil {
		s.fail("rotate the certificate: %v", err)
	}
}

// RotateClient replaces the client certificate that [Server.ClientCertPEM] returns:
// the one before gets 401 from now on, over connections that exist as well. Without
// TLS it does nothing.
func (s *Server) RotateClient() {
	if s.ids == nil {
		return
	}
	if err := s.ids.rotateClient(); err != nil {
		s.fail("rotate the client certificate: %v", err)
	}
	s.reconnect()
}

// RotateCA replaces the CA, and with it the certificate of the server and the client
// certificate. Connections that exist stay; new ones are shown a certificate of the
// new CA, and client certificates of the old one are turned down. Without TLS it does
// nothing.
func (s *Server) RotateCA() {
	if s.ids == nil {
		return
	}
	if err := s.ids.rotateCA(); err != nil {
		s.fail("rotate the CA: %v", err)
	}
	s.reconnect()
}

// reconnect lets Client show and trust what is valid by now.
func (s *Server) reconnect() {
	fresh := s.newClient()
	s.mu.Lock()
	old := s.client
	s.client = fresh
	s.mu.Unlock()
	old.CloseIdleConnections()
}
