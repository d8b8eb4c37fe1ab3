package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
)

// alerts are those by which a server turns down a client certificate, or asks for
// one. See https://www.rfc-editor.org/rfc/rfc8446#section-6.2.
var alerts = []tls.AlertError{
	42,  // bad certificate
	44,  // revoked
	45,  // expired
	46,  // unknown certificate
	48,  // unknown certificate authority
	49,  // access denied
	116, // certificate required
}

// verdict is what an answer, or the lack of one, says of the identity that was used.
type verdict int

const (
	welcome   verdict = iota
	refused           // by the server: our token or certificate
	untrusted         // by us: the server's certificate
	doubtful          // the connection was lost, of which a certificate may be the reason
)

// judge tells whether an identity that has rotated may be the reason of an answer or
// of its lack. An alert comes before the server has heard a request: see listening.
func judge(resp *http.Response, err error) verdict {
	if err == nil {
		if resp.StatusCode == http.StatusUnauthorized {
			return refused
		}
		return welcome
	}
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	if errors.As(err, &unknown) || errors.As(err, &invalid) {
		return untrusted
	}
	lost := (*net.OpError)(nil)
	if errors.As(err, &lost) && lost.Op == "remote error" {
		for _, a := range alerts {
			if lost.Err.Error() == a.Error() { // crypto/tls does not export its type
				return refused
			}
		}
	}
	if errors.Is(err, ErrIdle) || lost != nil && lost.Op == "dial" {
		return welcome
	}
	return doubtful
}
