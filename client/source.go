package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
)

// Credential is what is shown to the server: a token, a client certificate, or
// both. Whoever gave one out does not change it any more.
type Credential struct {
	Token       string
	Certificate *tls.Certificate // nil = none
}

// String shows no credential.
func (c Credential) String() string { return "client.Credential(...)" }

// Format is String, whatever the verb.
func (c Credential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String, for logs in JSON.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Source gives credentials that change, such as those of a command that a
// kubeconfig names (package config/plugin). It must be safe for concurrent use.
type Source interface {
	// Credential returns the credential to use now, which is the same pointer as
	// long as it is good. It may wait, for a command or a network, as long as ctx
	// lasts. Refused is nil, or what the server answered 401 to, or turned down in
	// the handshake: the source then returns another one if it can get one, and
	// what was refused if it cannot. An error is what the request ends with.
	Credential(ctx context.Context, refused *Credential) (*Credential, error)
}
