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
	"time"
)

// identities are the certificates of one server: an own CA, a serving and a
// client certificate.
type identities struct{ ca, server, client identity }

type identity struct {
	leaf            *x509.Certificate
	key             *ecdsa.PrivateKey
	pair            tls.Certificate
	certPEM, keyPEM []byte
}

func newIdentities() (*identities, error) {
	now := time.Now()
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
			KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		}
	}
	var ids identities
	ca := template(1, "apitest CA")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	server := template(2, "apitest")
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	server.DNSNames = []string{"localhost", "apitest.invalid"}
	client := template(3, "apitest-client")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, v := range []struct {
		id       *identity
		template *x509.Certificate
	}{{&ids.ca, ca}, {&ids.server, server}, {&ids.client, client}} {
		if err := v.id.issue(v.template, &ids.ca); err != nil {
			return nil, err
		}
	}
	return &ids, nil
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

func (i *identities) serverConfig(clientCerts bool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{i.server.pair}, MinVersion: tls.VersionTLS12}
	if clientCerts {
		c.ClientAuth = tls.VerifyClientCertIfGiven
		c.ClientCAs = x509.NewCertPool()
		c.ClientCAs.AddCert(i.ca.leaf)
	}
	return c
}
