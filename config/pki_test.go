package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"time"
)

// pki holds a certificate that signed itself, so that it is its own authority,
// and its key, as PEM. An old one expired in 2020.
type pki struct{ cert, key, old []byte }

var made = sync.OnceValue(func() pki {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	issue := func(from, to time.Time) []byte {
		tmpl := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: to,
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return pki{
		cert: issue(time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		old:  issue(time.Unix(0, 0), time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
})

// expand puts base64 of the test's certificate and key into text, so that no
// key stands in the repository.
func expand(text string) string {
	p, b64 := made(), base64.StdEncoding.EncodeToString
	return strings.NewReplacer("$CA", b64(p.cert), "$CERT", b64(p.cert), "$KEY", b64(p.key), "$OLD", b64(p.old)).Replace(text)
}
