package plugin

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/yamljson"
)

const kind = "ExecCredential"

// answer is a credential as the command printed it.
type answer struct {
	credential *client.Credential
	expires    time.Time // zero = never
}

// printed is the ExecCredential that the command prints.
type printed struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Status     *struct {
		Expires *string `json:"expirationTimestamp"`
		Token   string  `json:"token"`
		Cert    string  `json:"clientCertificateData"` // PEM
		Key     string  `json:"clientKeyData"`
	} `json:"status"`
}

// parse decodes the output of a command. Its errors quote nothing of it, because it holds
// credentials.
func parse(b []byte, version string) (answer, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return answer{}, errors.New("it printed nothing, where an " + kind + " is wanted")
	}
	p, err := codec.Decode[printed](asJSON(b))
	if err != nil {
		return answer{}, fmt.Errorf("what it printed is not an %s: %w", kind, err)
	}
	switch s := p.Status; {
	case p.Kind != "" && p.Kind != kind: // kubectl does not need one
		return answer{}, errors.New("what it printed is of another kind than " + kind)
	case p.APIVersion != version:
		return answer{}, fmt.Errorf("it speaks %s, and the kubeconfig says %s: make its apiVersion that of the plugin, or update the plugin", known(p.APIVersion), version)
	case s == nil:
		return answer{}, errors.New("it printed no status: it got no credential")
	case s.Token == "" && s.Cert == "" && s.Key == "":
		return answer{}, errors.New("it printed neither a token nor a client certificate")
	case s.Cert != "" && s.Key == "":
		return answer{}, errors.New("it printed clientCertificateData without clientKeyData")
	case s.Cert == "" && s.Key != "":
		return answer{}, errors.New("it printed clientKeyData without clientCertificateData")
	case strings.ContainsFunc(s.Token, isRefused):
		return answer{}, errors.New("the token it printed holds a line break or another character that is not printable ASCII")
	}
	a := answer{credential: &client.Credential{Token: p.Status.Token}}
	if s := p.Status.Expires; s != nil {
		// As in client-go, Go's zero time means no expiry.
		if a.expires, err = time.Parse(time.RFC3339, *s); err != nil {
			return answer{}, errors.New("the expirationTimestamp it printed is not a time such as 2026-01-02T15:04:05Z")
		}
	}
	if p.Status.Cert != "" {
		pair, err := keyPair(p.Status.Cert, p.Status.Key)
		if err != nil {
			return answer{}, err
		}
		a.credential.Certificate = pair
		if end := pair.Leaf.NotAfter; a.expires.IsZero() || end.Before(a.expires) {
			a.expires = end
		}
	}
	return a, nil
}

// asJSON returns b as JSON if it is a mapping in YAML, which kubectl accepts too; otherwise
// b, and the decoder of JSON says what is wrong.
func asJSON(b []byte) []byte {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return b
	}
	v, err := yamljson.NewDecoder(b, yamljson.Limits{}).Value()
	if m, ok := v.(map[string]any); err == nil && ok {
		if text, err := json.Marshal(m); err == nil {
			return text
		}
	}
	return b
}

// isRefused reports whether the client refuses a token with r, and would do so for ever: the
// command runs again only when its credential expires, or the server rejects it.
func isRefused(r rune) bool { return r < ' ' || r > '~' }

// known returns version if it is a known one, and a fixed text otherwise: the command may
// print anything there.
func known(version string) string {
	if rest, ok := strings.CutPrefix(version, "client.authentication.k8s.io/"); ok && (rest == "v1" || rest == "v1beta1" || rest == "v1alpha1") {
		return version
	}
	return "another apiVersion"
}

// keyPair parses a certificate, its leaf, and its key.
func keyPair(cert, key string) (*tls.Certificate, error) {
	for _, part := range []struct{ name, text string }{{"clientCertificateData", cert}, {"clientKeyData", key}} {
		if block, _ := pem.Decode([]byte(part.text)); block == nil {
			return nil, errors.New("the " + part.name + " it printed is not PEM")
		}
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	switch {
	case err == nil:
		return &pair, nil
	case strings.Contains(err.Error(), "does not match"):
		return nil, errors.New("the clientCertificateData and clientKeyData it printed do not belong together")
	}
	return nil, errors.New("the clientCertificateData and clientKeyData it printed are not a certificate and its key")
}
