package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// fileAge is how long the content of a file is used before it is read again. Kubelet
// rotates bound tokens at 80 % of their lifetime, which is an hour by default.
const fileAge = time.Minute

// identity holds the credential and the authorities at one moment. It is immutable;
// each pool of connections uses one.
type identity struct {
	token string
	roots *roots      // nil = those of the system
	pair  *pair       // nil = no client certificate
	given *Credential // from a Source; nil = no Source
	era   int         // changes with roots and pair: connections of an earlier era get no new requests
}

// tls returns a configuration for one pool, which may change it.
func (i *identity) tls(t TLS) *tls.Config {
	tc := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.Insecure}
	if i.roots != nil {
		tc.RootCAs = i.roots.pool
	}
	if i.pair != nil {
		// Not Certificates: net/http sends none of those if the server names other
		// authorities, and the response is an unexplained 401.
		tc.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.pair.parsed, nil }
	}
	return tc
}

// credentials holds the current identity, from files that rotate and from a Source. It
// is safe for concurrent use.
type credentials struct {
	tls       TLS
	tokenFile string
	username  string
	password  string
	rotates   bool // at least one file is used
	source    Source
	trace     *Trace
	base      *url.URL
	proxy     func(*http.Request) (*url.URL, error)
	turn      chan struct{} // held while reading files, so that older content never replaces newer

	mu     sync.Mutex
	now    *identity
	former []string // the latest seven tokens before now's: a server may still repeat them
	readAt time.Time
}

// newCredentials reads the files of cfg.
func newCredentials(cfg Config, base *url.URL) (*credentials, error) {
	k := &credentials{
		base: base, proxy: cfg.chooseProxy,
		tls: cfg.TLS, tokenFile: cfg.TokenFile, username: cfg.Username, password: cfg.Password,
		source: cfg.Credentials, turn: make(chan struct{}, 1), now: &identity{token: cfg.Token},
	}
	t := cfg.TLS
	switch {
	case !isToken(cfg.Token):
		return nil, errors.New("client: the token contains a line break or another character that is not printable ASCII")
	case k.source != nil && (cfg.Token != "" || cfg.TokenFile != "" || cfg.Username != "" || cfg.Password != "" ||
		t.CertFile != "" || t.KeyFile != "" || len(t.CertData) > 0 || len(t.KeyData) > 0):
		return nil, errors.New("client: Config.Credentials is set, and so is a token, user, password or client certificate: want either")
	}
	k.rotates = cfg.TokenFile != "" || t.CAFile != "" && len(t.CAData) == 0 ||
		t.CertFile != "" && len(t.CertData) == 0 || t.KeyFile != "" && len(t.KeyData) == 0
	_, err := k.look(context.Background())
	k.trace = cfg.Trace // not for the first read
	return k, err
}

// current returns the identity to use now.
func (k *credentials) current(ctx context.Context) (*identity, error) {
	k.mu.Lock()
	id, due := k.now, k.rotates && time.Since(k.readAt) >= fileAge
	if due {
		k.readAt = time.Now() // one request reads the files, the others use the current content
	}
	k.mu.Unlock()
	if due {
		id, _ = k.look(ctx) // if a file is being replaced, the old content stays in use
	}
	if k.source != nil {
		return k.ask(ctx, nil)
	}
	return id, nil
}

// renew returns a newer identity after used was rejected, or used if there is none;
// refused means that the server rejected it. An error is why there is no newer one.
func (k *credentials) renew(ctx context.Context, used *identity, refused bool) (*identity, error) {
	now, err := k.peek(), error(nil)
	if now == used && k.rotates {
		now, err = k.look(ctx)
	}
	if refused && k.source != nil && now.given == used.given {
		return k.ask(ctx, used.given)
	}
	return now, err
}

// ask calls the Source.
func (k *credentials) ask(ctx context.Context, refused *Credential) (*identity, error) {
	cred, err := k.source.Credential(ctx, refused)
	switch {
	case err != nil && ctx.Err() != nil:
		return k.peek(), context.Cause(ctx)
	case err != nil:
		return k.peek(), err
	case cred == nil:
		return k.peek(), errors.New("client: Config.Credentials returned neither a credential nor an error")
	case !isToken(cred.Token):
		return k.peek(), errors.New("client: the token of Config.Credentials contains a line break or another character that is not printable ASCII")
	}
	return k.update(func(i *identity) {
		if i.given != cred {
			i.given, i.token, i.pair = cred, cred.Token, i.pair.or(cred.Certificate)
		}
	}), nil
}

// look reads the files. Invalid ones keep their old content, and the first error is
// returned.
func (k *credentials) look(ctx context.Context) (*identity, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return k.peek(), context.Cause(ctx)
	}
	old := k.peek()
	roots, err := k.tls.readRoots(old.roots)
	pair, token := old.pair, old.token
	if k.source == nil {
		var perr, terr error
		pair, perr = k.tls.readPair(old.pair)
		if k.tokenFile != "" {
			token, terr = readToken(k.tokenFile, old.token)
		}
		err = first(err, perr, terr)
	}
	if err != nil {
		k.trace.rotated(err)
	}
	k.mu.Lock()
	k.readAt = time.Now()
	k.mu.Unlock()
	return k.update(func(i *identity) {
		i.roots = roots
		if k.source == nil {
			i.pair, i.token = pair, token
		}
	}), err
}

func (k *credentials) peek() *identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// update changes the identity. If nothing changes, it keeps the same pointer.
func (k *credentials) update(change func(*identity)) *identity {
	k.mu.Lock()
	old := k.now
	next := *old
	change(&next)
	if next == *old {
		k.mu.Unlock()
		return old
	}
	if next.roots != old.roots || next.pair != old.pair {
		next.era++
	}
	k.now = &next
	if next.token != old.token {
		k.former = append([]string{old.token}, slices.DeleteFunc(k.former, func(t string) bool { return t == old.token || t == next.token })...)
		k.former = k.former[:min(len(k.former), 7)]
	}
	k.mu.Unlock()
	k.trace.rotated(nil)
	return &next
}

// or returns p if it contains c, else a pair with c; nil if c is nil.
func (p *pair) or(c *tls.Certificate) *pair {
	switch {
	case c == nil:
		return nil
	case p != nil && slices.EqualFunc(p.parsed.Certificate, c.Certificate, bytes.Equal):
		return p // a new token with the same certificate
	}
	return &pair{parsed: c}
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// authorize adds the credential to req.
func (k *credentials) authorize(req *http.Request, id *identity) {
	switch {
	case id.token != "":
		req.Header.Set("Authorization", "Bearer "+id.token)
	case k.username != "" || k.password != "":
		req.SetBasicAuth(k.username, k.password)
	}
}
