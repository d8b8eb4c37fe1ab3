package client

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/hide"
	"github.com/listwatch/listwatch/kube"
)

// Servers and proxies can echo our credentials: they repeat headers in errors and
// warnings, and net/http quotes what it cannot parse.

// Conceal returns err with the credentials of c removed from its text and from a *kube.Status that
// it wraps. Code that puts data of a server into errors must call it, as Do does.
func (c *Client) Conceal(err error) error { return c.creds.conceal(err) }

func (k *credentials) conceal(err error) error {
	if err == nil {
		return nil
	}
	var st, safe *kube.Status
	if errors.As(err, &st) {
		if safe = k.concealStatus(st); err == error(st) {
			err, st = safe, safe
		}
	}
	text := err.Error()
	now := text
	if safe != st { // the text has a clipped part of the credential, perhaps
		now = strings.ReplaceAll(text, st.Error(), safe.Error())
	}
	now = k.hide(now)
	if now == text && safe == st {
		return err
	}
	return &concealed{err, now, safe}
}

// concealStatus returns a copy of st without our credentials, or st if it contains
// none. It copies because several errors may share st.
func (k *credentials) concealStatus(st *kube.Status) *kube.Status {
	c := *st
	texts := []*string{&c.Reason, &c.Message, &c.AuditID, &c.Metadata.Continue, &c.Metadata.ResourceVersion}
	if st.Details != nil {
		d := *st.Details
		d.Causes = slices.Clone(d.Causes)
		c.Details = &d
		texts = append(texts, &d.Name, &d.Group, &d.Kind, &d.UID)
		for i := range d.Causes {
			texts = append(texts, &d.Causes[i].Reason, &d.Causes[i].Message, &d.Causes[i].Field)
		}
	}
	found := false
	for _, s := range texts {
		if safe := k.hide(*s); safe != *s {
			*s, found = safe, true
		}
	}
	if !found {
		return st
	}
	return &c
}

// concealed is an error whose text or Status contained a credential.
type concealed struct {
	err    error
	text   string
	status *kube.Status // nil = none
}

func (e *concealed) Error() string { return e.text }

// Unwrap returns the error, for errors.Is and errors.As.
func (e *concealed) Unwrap() error { return e.err }

// As returns the Status without credentials.
func (e *concealed) As(target any) bool {
	st, ok := target.(**kube.Status)
	if ok = ok && e.status != nil; ok {
		*st = e.status
	}
	return ok
}

// ConcealIn overwrites the credentials of c in b, data of a server, by as many bytes, also where
// JSON, URLs or HTML write characters of them in another way, and where only their first 16 or more
// characters are there. Those of less than 12 bytes are not looked for. It returns how many bytes
// at the end of b may begin one: none if last is true, which means that no data follows b.
func (c *Client) ConcealIn(b []byte, last bool) (open int) {
	return hide.Bytes(b, c.creds.secrets(), last)
}

// hide returns text without our credentials.
func (k *credentials) hide(text string) string {
	if text == "" {
		return ""
	}
	return hide.Text(text, k.secrets())
}

// secrets returns the current credentials as they are sent.
func (k *credentials) secrets() []string {
	k.mu.Lock()
	all := append([]string{k.now.token, k.password}, k.former...)
	k.mu.Unlock()
	if k.password != "" {
		all = append(all, basic(k.username, k.password))
	}
	if u, err := k.proxy(&http.Request{URL: k.base}); err == nil && u != nil && u.User != nil {
		password, _ := u.User.Password()
		all = append(all, password, basic(u.User.Username(), password))
	}
	return all
}

// basic returns user and password in the encoding of RFC 7617.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
