package client

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenAge is how long a token read from a file is used before the file is read
// again. Kubelet rotates bound tokens at 80 % of their life, an hour by default.
const tokenAge = time.Minute

// credential is who we say we are. Safe for concurrent use.
type credential struct {
	file               string
	username, password string

	mu     sync.Mutex
	tok    string
	readAt time.Time
}

func newCredential(cfg Config) (*credential, error) {
	c := &credential{file: cfg.TokenFile, username: cfg.Username, password: cfg.Password, tok: cfg.Token}
	if strings.ContainsAny(cfg.Token, "\r\n") {
		return nil, errors.New("client: the token contains a line break")
	}
	if c.file != "" {
		tok, err := readToken(c.file)
		if err != nil {
			return nil, err
		}
		c.tok, c.readAt = tok, time.Now()
	}
	return c, nil
}

// token returns the bearer token to use now, empty if there is none.
func (c *credential) token() string {
	c.mu.Lock()
	tok, due := c.tok, c.file != "" && time.Since(c.readAt) >= tokenAge
	c.mu.Unlock()
	if !due {
		return tok
	}
	fresh, err := c.refresh(tok)
	if err != nil {
		return tok // a file being replaced: the old token is the best guess
	}
	return fresh
}

// refresh reads the token file again, unless another did since used was taken.
func (c *credential) refresh(used string) (string, error) {
	if c.file == "" {
		return used, nil
	}
	c.mu.Lock()
	tok := c.tok
	c.mu.Unlock()
	if tok != used {
		return tok, nil
	}
	fresh, err := readToken(c.file)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.tok, c.readAt = fresh, time.Now()
	c.mu.Unlock()
	return fresh, nil
}

func (c *credential) authorize(req *http.Request, token string) {
	switch {
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case c.username != "" || c.password != "":
		req.SetBasicAuth(c.username, c.password)
	}
}

func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("client: read token file: %w", err)
	}
	tok := strings.TrimSpace(string(b))
	if tok == "" {
		return "", fmt.Errorf("client: token file %s is empty", path)
	}
	if strings.ContainsAny(tok, "\r\n") {
		return "", fmt.Errorf("client: token file %s holds more than one line", path)
	}
	return tok, nil
}

// header returns the impersonation headers.
func (i Impersonate) header() http.Header {
	h := http.Header{}
	if i.User != "" {
		h.Set("Impersonate-User", i.User)
	}
	if i.UID != "" {
		h.Set("Impersonate-Uid", i.UID)
	}
	for _, g := range i.Groups {
		h.Add("Impersonate-Group", g)
	}
	for k, vs := range i.Extra {
		for _, v := range vs {
			h.Add("Impersonate-Extra-"+escapeExtra(k), v)
		}
	}
	return h
}

// escapeExtra percent-encodes what an HTTP header name cannot hold, as the
// server expects of the keys of extra.
func escapeExtra(k string) string {
	var b strings.Builder
	for i := range len(k) {
		c := k[i]
		if c > ' ' && c < 0x7f && !strings.ContainsRune(`%()<>@,;:\"/[]?={}`, rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
