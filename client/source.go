package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
)

// Credential is sent to the server: a token, a client certificate, or both. It must not
// change after Source has returned it.
type Credential struct {
	Token       string
	Certificate *tls.Certificate // nil = none
}

// String returns no credential.
func (c Credential) String() string { return "client.Credential(...)" }

// Format writes String, for every verb.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText returns String, for logs in JSON.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Source returns credentials that change, such as those of a command in a kubeconfig
// (package config/plugin). It must be safe for concurrent use.
type Source interface {
	// Credential returns the current credential: the same pointer as long as it is valid. It
	// may wait, for a command or a network, until ctx is done. refused is nil, or a
	// credential that the server rejected with 401 or in the handshake: then the source
	// returns another one if it can, else refused. If the source fails, the request fails
	// with its error.
	Credential(ctx context.Context, refused *Credential) (*Credential, error)
}
