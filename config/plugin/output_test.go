package plugin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// certify returns a certificate that ends at end, and its key, as PEM.
func certify(t testing.TB, end time.Time) (cert, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "dev"},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// credentialOf returns an ExecCredential in v1 with the given status, in pairs of
// name and string.
func credentialOf(t testing.TB, status ...string) string {
	t.Helper()
	m := map[string]string{}
	for i := 0; i < len(status); i += 2 {
		m[status[i]] = status[i+1]
	}
	b, err := json.Marshal(map[string]any{"kind": "ExecCredential", "apiVersion": v1, "status": m, "spec": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParse(t *testing.T) {
	end := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	cert, key := certify(t, end)
	for name, tt := range map[string]struct {
		in          string
		token       string
		certificate bool
		expires     time.Time
	}{
		"token":                 {credentialOf(t, "token", "T"), "T", false, time.Time{}},
		"with an end":           {credentialOf(t, "token", "T", "expirationTimestamp", "2031-05-06T09:08:09+02:00"), "T", false, end},
		"fraction of a second":  {credentialOf(t, "token", "T", "expirationTimestamp", "2031-05-06T07:08:09.5Z"), "T", false, end.Add(time.Second / 2)},
		"end is null":           {`{"kind":"ExecCredential","apiVersion":"` + v1 + `","status":{"token":"T","expirationTimestamp":null}}`, "T", false, time.Time{}},
		"end is Go's zero time": {credentialOf(t, "token", "T", "expirationTimestamp", "0001-01-01T00:00:00Z"), "T", false, time.Time{}},
		"certificate":           {credentialOf(t, "clientCertificateData", cert, "clientKeyData", key), "", true, end},
		"both":                  {credentialOf(t, "clientCertificateData", cert, "clientKeyData", key, "token", "T"), "T", true, end},
		"ends before the certificate": {
			credentialOf(t, "clientCertificateData", cert, "clientKeyData", key, "expirationTimestamp", "2030-01-01T00:00:00Z"),
			"", true, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		},
		"ends after the certificate": {
			credentialOf(t, "clientCertificateData", cert, "clientKeyData", key, "expirationTimestamp", "2032-01-01T00:00:00Z"), "", true, end,
		},
		"no kind":                         {`{"apiVersion":"` + v1 + `","status":{"token":"T"}}`, "T", false, time.Time{}},
		"unknown members and white space": {"\n " + strings.Replace(credentialOf(t, "token", "T"), `"spec"`, `"x":[1],"spec"`, 1) + "\n\n", "T", false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := parse([]byte(tt.in), v1)
			if err != nil {
				t.Fatal(err)
			}
			if c := a.credential; c.Token != tt.token || (c.Certificate != nil) != tt.certificate || !a.expires.Equal(tt.expires) {
				t.Errorf("token %q, certificate %t, expires %v", c.Token, c.Certificate != nil, a.expires)
			}
		})
	}
}

func TestParseErrorsSayWhatAndQuoteNothing(t *testing.T) {
	const secret = "hunter2"
	cert, key := certify(t, time.Now().Add(time.Hour))
	_, other := certify(t, time.Now().Add(time.Hour))
	good := credentialOf(t, "token", secret)
	for name, tt := range map[string]struct{ in, want string }{
		"nothing":        {"", "it printed nothing, where an ExecCredential is wanted"},
		"white space":    {" \n\t", "it printed nothing, where an ExecCredential is wanted"},
		"text":           {secret, "what it printed is not an ExecCredential: invalid JSON at byte 0: value expected"},
		"more behind it": {good + secret, "what it printed is not an ExecCredential: invalid JSON at byte 111: more than one value"},
		"cut":            {good[:len(good)-1], "what it printed is not an ExecCredential: invalid JSON at byte 110: comma or closing bracket expected"},
		"a list":         {"[" + good + "]", "what it printed is not an ExecCredential: decode: array into plugin.printed"},
		"null":           {"null", "what it printed is not an ExecCredential: decode: null into plugin.printed"},
		"a number for a token": {
			strings.Replace(good, `"`+secret+`"`, "12", 1), "what it printed is not an ExecCredential: decode status.token: number into string",
		},
		"another kind": {strings.Replace(good, kind, secret, 1), "what it printed is of another kind than ExecCredential"},
		"neither kind nor version": {
			`{"status":{"token":"` + secret + `"}}`,
			"it speaks another apiVersion, and the kubeconfig says client.authentication.k8s.io/v1: make its apiVersion that of the plugin, or update the plugin",
		},
		"v1beta1": {
			strings.Replace(good, v1, v1beta1, 1),
			"it speaks client.authentication.k8s.io/v1beta1, and the kubeconfig says client.authentication.k8s.io/v1: make its apiVersion that of the plugin, or update the plugin",
		},
		"another version": {
			strings.Replace(good, v1, "client.authentication.k8s.io/"+secret, 1),
			"it speaks another apiVersion, and the kubeconfig says client.authentication.k8s.io/v1: make its apiVersion that of the plugin, or update the plugin",
		},
		"no status":                  {`{"kind":"ExecCredential","apiVersion":"` + v1 + `","token":"` + secret + `"}`, "it printed no status: it got no credential"},
		"empty status":               {credentialOf(t), "it printed neither a token nor a client certificate"},
		"no credential":              {credentialOf(t, "Token", secret), "it printed neither a token nor a client certificate"},
		"certificate only":           {credentialOf(t, "clientCertificateData", cert), "it printed clientCertificateData without clientKeyData"},
		"key only":                   {credentialOf(t, "clientKeyData", key), "it printed clientKeyData without clientCertificateData"},
		"token and key only":         {credentialOf(t, "token", secret, "clientKeyData", key), "it printed clientKeyData without clientCertificateData"},
		"certificate not PEM":        {credentialOf(t, "clientCertificateData", secret, "clientKeyData", key), "the clientCertificateData it printed is not PEM"},
		"key not PEM":                {credentialOf(t, "clientCertificateData", cert, "clientKeyData", secret), "the clientKeyData it printed is not PEM"},
		"PEM of something":           {credentialOf(t, "clientCertificateData", strings.ReplaceAll(cert, "CERTIFICATE", secret), "clientKeyData", key), "the clientCertificateData and clientKeyData it printed are not a certificate and its key"},
		"key of another":             {credentialOf(t, "clientCertificateData", cert, "clientKeyData", other), "the clientCertificateData and clientKeyData it printed do not belong together"},
		"line break in the token":    {credentialOf(t, "token", secret+"\n"), "the token it printed holds a line break or another character that is not printable ASCII"},
		"control chars in the token": {credentialOf(t, "token", secret+"\x00"), "the token it printed holds a line break or another character that is not printable ASCII"},
		"DEL in the token":           {credentialOf(t, "token", secret+"\x7f"), "the token it printed holds a line break or another character that is not printable ASCII"},
		"not ASCII in the token":     {credentialOf(t, "token", secret+"€"), "the token it printed holds a line break or another character that is not printable ASCII"},
		"end is no time":             {credentialOf(t, "token", "T", "expirationTimestamp", secret), "the expirationTimestamp it printed is not a time such as 2026-01-02T15:04:05Z"},
		"end is a number":            {strings.Replace(credentialOf(t, "token", "T", "expirationTimestamp", "X"), `"X"`, "12", 1), "what it printed is not an ExecCredential: decode status.expirationTimestamp: number into string"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := parse([]byte(tt.in), v1)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v\nwant  %s", err, tt.want)
			}
			if a.credential != nil {
				t.Error("a credential comes with the error")
			}
		})
	}
}

// FuzzParse puts a secret somewhere into what a command prints, and checks that no
// error holds it, and that what is accepted can be used.
func FuzzParse(f *testing.F) {
	const secret = "hunter2"
	cert, key := certify(f, time.Now().Add(time.Hour))
	for _, s := range []string{
		"", "null", "[]", "{", credentialOf(f), credentialOf(f, "token", "T"),
		credentialOf(f, "token", "T", "expirationTimestamp", "2031-05-06T09:08:09+02:00"),
		credentialOf(f, "clientCertificateData", cert, "clientKeyData", key),
		strings.Replace(credentialOf(f, "token", "T"), v1, v1beta1, 1),
	} {
		for _, at := range []int{0, 20, 60, 80, 100, 200} {
			f.Add([]byte(s), at, at == 0)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, at int, as bool) {
		if !as {
			at = max(0, min(at, len(b)))
			b = slices.Concat(b[:at], []byte(secret), b[at:])
		}
		a, err := parse(b, v1)
		if err != nil {
			if a.credential != nil || strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 300 {
				t.Errorf("error %q", err)
			}
			return
		}
		c := a.credential
		if c.Token == "" && c.Certificate == nil || strings.ContainsAny(c.Token, "\r\n\x00") {
			t.Errorf("accepted %q", b)
		}
		if c.Certificate != nil && (c.Certificate.Leaf == nil || a.expires.IsZero()) {
			t.Error("a certificate without an end")
		}
	})
}

// TestParseYAML: an ExecCredential may be YAML, as for kubectl; what is neither is an error
// that quotes nothing of it.
func TestParseYAML(t *testing.T) {
	cert, key := certify(t, time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC))
	block := func(name, text string) string {
		return "  " + name + ": |\n    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
	}
	a, err := parse([]byte("# by a script\n---\nkind: ExecCredential\napiVersion: "+v1+"\nstatus:\n  token: t0k3n\n  expirationTimestamp: 2030-01-02T03:04:05Z\n"+
		block("clientCertificateData", cert)+block("clientKeyData", key)), v1)
	if err != nil {
		t.Fatal(err)
	}
	if a.credential.Token != "t0k3n" || a.credential.Certificate == nil || !a.expires.Equal(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%+v", a)
	}
	for _, in := range []string{"kind: ExecCredential\nstatus: {token: hunter2\n", "hunter2", "- hunter2", "kind: &a hunter2\nkind: *a", "status: {token: 0x1f}\nkind: ExecCredential\napiVersion: " + v1} {
		if _, err := parse([]byte(in), v1); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", in, err)
		}
	}
}
