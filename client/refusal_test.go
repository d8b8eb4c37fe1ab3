package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/listwatch/listwatch/client"
)

func TestVerdict(t *testing.T) {
	alert := func(op string, code uint8) error {
		return fmt.Errorf("wrapped: %w", &net.OpError{Op: op, Err: tls.AlertError(code)})
	}
	for _, tt := range []struct {
		name string
		code int
		err  error
		want any
	}{
		{"200", 200, nil, client.Welcome},
		{"401", 401, nil, client.Refused},
		{"403", 403, nil, client.Welcome},
		{"bad certificate", 0, alert("remote error", 42), client.Refused},
		{"revoked", 0, alert("remote error", 44), client.Refused},
		{"expired", 0, alert("remote error", 45), client.Refused},
		{"unknown certificate", 0, alert("remote error", 46), client.Refused},
		{"unknown authority", 0, alert("remote error", 48), client.Refused},
		{"access denied", 0, alert("remote error", 49), client.Refused},
		{"certificate required", 0, alert("remote error", 116), client.Refused},
		{"handshake failure", 0, alert("remote error", 40), client.Doubtful},
		{"our own alert", 0, alert("local error", 42), client.Doubtful},
		{"server of another authority", 0, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, client.Untrusted},
		{"server whose certificate expired", 0, x509.CertificateInvalidError{Reason: x509.Expired}, client.Untrusted},
		{"lost connection", 0, io.ErrUnexpectedEOF, client.Doubtful},
		{"reset", 0, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, client.Doubtful},
		{"refused connection", 0, &net.OpError{Op: "dial", Err: errors.New("connection refused")}, client.Welcome},
		{"silence", 0, fmt.Errorf("%w: nothing for a minute", client.ErrIdle), client.Welcome},
	} {
		if got := client.Judge(&http.Response{StatusCode: tt.code}, tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
