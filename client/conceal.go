package client

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// What a server says may hold what it was told: it, or something before it, repeats
// headers in its errors and warnings, and net/http quotes what it cannot read.

// leastSecret is the length, in bytes, from which on a secret is looked for. What is
// shorter may stand anywhere by chance, and is none.
const leastSecret = 6

const hidden = "(hidden)"

// Conceal returns err without our credentials in its text, nor in a *kube.Status that it
// wraps. Whoever makes errors of what a server sent does this; Do has done it.
func (c *Client) Conceal(err error) error { return c.keeper.conceal(err) }

func (k *keeper) conceal(err error) error {
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
	now := k.hide(text)
	if now == text && safe == st {
		return err
	}
	return &concealed{err, now, safe}
}

// concealStatus returns a copy of st without our credentials, and st itself if they are
// not in it: others may have it too, such as all who end by the same cause.
func (k *keeper) concealStatus(st *kube.Status) *kube.Status {
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

// concealed is an error whose text, or whose Status, held a credential.
type concealed struct {
	err    error
	text   string
	status *kube.Status // nil = there is none
}

func (e *concealed) Error() string { return e.text }

// Unwrap returns the error, for errors.Is and errors.As.
func (e *concealed) Unwrap() error { return e.err }

// As gives the Status that holds no credential.
func (e *concealed) As(target any) bool {
	st, ok := target.(**kube.Status)
	if ok = ok && e.status != nil; ok {
		*st = e.status
	}
	return ok
}

// hide returns text without our credentials.
func (k *keeper) hide(text string) string {
	if text == "" {
		return ""
	}
	for _, s := range k.secrets() {
		if len(s) >= leastSecret {
			text = strings.ReplaceAll(text, s, hidden)
			text = strings.ReplaceAll(text, url.QueryEscape(s), hidden)
		}
	}
	return text
}

// secrets are those that are sent, in the form in which they are.
func (k *keeper) secrets() []string {
	k.mu.Lock()
	all := []string{k.now.token, k.before, k.password}
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

// basic is what RFC 7617 makes of a user and a password.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}
