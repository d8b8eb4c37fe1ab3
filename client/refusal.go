package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
)

// alerts are the alerts by which a server refuses a client certificate, or requests
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

// verdict is whether a response, or its lack, may be due to the identity.
type verdict int

const (
	welcome   verdict = iota
	refused           // the server rejected our token or certificate
	untrusted         // we rejected the server's certificate
	doubtful          // the connection was lost, perhaps because of a certificate
)

// judge returns whether an outdated identity may be the reason of a response or an
// error. An alert arrives before the server has read a request: see package alert.
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
