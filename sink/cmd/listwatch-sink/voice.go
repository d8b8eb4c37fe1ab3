package main

import (
	"encoding/base64"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/internal/hide"
	"github.com/listwatch/listwatch/internal/printable"
)

// voice writes whole lines to stderr, without the credentials of sinks: servers repeat them in
// errors. Its methods may be called from any goroutine.
type voice struct {
	mu      sync.Mutex
	w       io.Writer
	secrets []string
}

// hide hides further credentials.
func (v *voice) hide(secrets ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets = append(v.secrets, secrets...)
}

// line returns the text of an error for people. A server may have put what is unsafe or a space
// into a credential, so that only the line has it.
func (v *voice) line(err error) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return printable.Line(hide.Text(err.Error(), v.secrets))
}

// Write implements io.Writer.
func (v *voice) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := io.WriteString(v.w, hide.Text(string(b), v.secrets)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// secrets returns the credentials of a URL as they are sent.
func secrets(u *url.URL) []string {
	q, name := u.Query(), u.User.Username()
	password, given := u.User.Password()
	all := []string{password, q.Get("password"), q.Get("sslpassword")}
	switch u.Scheme {
	case "nats", "tls":
		if !given {
			all = append(all, name) // a token
		}
		all = append(all, natsSecrets(q.Get("creds"))...)
	case "http", "https":
		if given {
			all = append(all, base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
		}
	}
	return all
}

// natsSecrets returns the token and the seed of a file of credentials; if it cannot be read, the
// connection fails.
func natsSecrets(creds string) (all []string) {
	f, err := os.Open(creds)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); len(line) > 40 && !strings.ContainsAny(line, " *") {
			all = append(all, line)
		}
	}
	return all
}
