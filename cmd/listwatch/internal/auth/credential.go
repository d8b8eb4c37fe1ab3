package auth

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config/plugin"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/printable"
)

// maxCredential bounds the file of a token or certificate, as package client does.
const maxCredential = 4 << 20

// describe returns which credentials cfg has, without anything that could be used.
func describe(cfg client.Config) credentials {
	c := credentials{step: step{Status: statusOK}, Shown: []credential{}}
	if i := cfg.Impersonate; i.User != "" {
		c.Impersonate = &impersonation{User: i.User, UID: i.UID, Groups: i.Groups, Extra: i.Extra}
	}
	if cfg.Credentials != nil {
		c.Shown = append(c.Shown, credential{Kind: kindCommand, From: commandOf(cfg.Credentials)})
	}
	switch token := cfg.Token; {
	case cfg.TokenFile != "":
		b, _ := disk.ReadFile(cfg.TokenFile, maxCredential) // the constructor of the client reports the error
		c.add(tokenOf(string(b), cfg.TokenFile))
	case token != "":
		c.add(tokenOf(token, ""))
	case cfg.Username != "" || cfg.Password != "":
		c.Shown = append(c.Shown, credential{Kind: "user name and password", Subject: cfg.Username})
	}
	if cert, ok := certificateOf(cfg.TLS); ok {
		c.add(describeCertificate(cert, cfg.TLS.CertFile))
	}
	return c
}

// commandOf returns the name of the command that s runs, without its arguments.
func commandOf(s client.Source) string {
	p, ok := s.(*plugin.Plugin)
	if !ok {
		return ""
	}
	return p.Command()
}

// got adds what a command returned.
func (c *credentials) got(cred *client.Credential) {
	from := c.Shown[0].From
	if cred.Token != "" {
		one, warning := tokenOf(cred.Token, from)
		c.add(one, warning)
	}
	if cert := cred.Certificate; cert != nil && len(cert.Certificate) > 0 {
		if leaf, err := x509.ParseCertificate(cert.Certificate[0]); err == nil {
			one, warning := describeCertificate(leaf, from)
			c.add(one, warning)
		}
	}
}

// String returns the kind of c, its origin and the user that it names.
func (c credential) String() string {
	text := c.Kind
	if c.Subject != "" {
		text += " of " + c.Subject
	}
	if c.Issuer != "" {
		text += ", issued by " + c.Issuer
	}
	if c.NotAfter != "" {
		text += ", until " + momentOf(c.NotAfter)
	}
	switch {
	case c.From == "":
	case c.Kind == kindCommand:
		text += " " + c.From
	default:
		text += ", from " + c.From
	}
	return text
}

func (c *credentials) add(one credential, warning string) {
	c.Shown = append(c.Shown, one)
	if warning != "" {
		c.warn(warning)
	}
}

// tokenOf reads the claims of a JSON Web Token. Other tokens have none.
func tokenOf(token, file string) (credential, string) {
	c := credential{Kind: "token", From: file}
	parts := strings.Split(strings.TrimSpace(token), ".")
	if len(parts) != 3 {
		return c, ""
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Subject string  `json:"sub"`
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(b, &claims) != nil {
		return c, ""
	}
	c.Subject = claims.Subject
	if claims.Expires <= 0 || claims.Expires > 1e11 {
		return c, ""
	}
	end := time.Unix(int64(claims.Expires), 0).UTC()
	c.NotAfter = end.Format(time.RFC3339)
	if time.Now().After(end) {
		return c, "the token expired at " + moment(end)
	}
	return c, ""
}

// certificateOf returns the client certificate, if there is one that can be read.
func certificateOf(t client.TLS) (*x509.Certificate, bool) {
	data := t.CertData
	if len(data) == 0 && t.CertFile != "" {
		data, _ = disk.ReadFile(t.CertFile, maxCredential)
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil, false
		}
		if block.Type == "CERTIFICATE" {
			cert, err := x509.ParseCertificate(block.Bytes)
			return cert, err == nil
		}
	}
}

func describeCertificate(cert *x509.Certificate, file string) (credential, string) {
	c := credential{Kind: "client certificate", From: file, Subject: nameIn(cert.Subject.CommonName, cert.Subject.Organization),
		Issuer: nameIn(cert.Issuer.CommonName, cert.Issuer.Organization), NotAfter: cert.NotAfter.UTC().Format(time.RFC3339)}
	now := time.Now()
	usable := func(u x509.ExtKeyUsage) bool { return u == x509.ExtKeyUsageClientAuth || u == x509.ExtKeyUsageAny }
	switch {
	case now.After(cert.NotAfter):
		return c, "the client certificate expired at " + moment(cert.NotAfter)
	case now.Before(cert.NotBefore):
		return c, "the client certificate is valid only from " + moment(cert.NotBefore) + " on"
	case len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) > 0 && !slices.ContainsFunc(cert.ExtKeyUsage, usable):
		return c, "the client certificate is not for clients, by its extended key usage"
	}
	return c, ""
}

// nameIn returns a name in a certificate: Kubernetes uses the common name as the user and
// organizations as groups.
func nameIn(cn string, organizations []string) string {
	words := []string{"CN=" + printable.Line(cn)}
	for _, o := range organizations {
		words = append(words, "O="+printable.Line(o))
	}
	return strings.Join(words, " ")
}

// moment formats a time for people.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
