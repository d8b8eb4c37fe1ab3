package client

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
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
	var st *kube.Status
	if errors.As(err, &st) {
		k.concealStatus(st)
	}
	text := err.Error()
	if now := k.hide(text); now != text {
		return &concealed{err, now}
	}
	return err
}

func (k *keeper) concealStatus(st *kube.Status) {
	texts := []*string{&st.Reason, &st.Message, &st.AuditID, &st.Metadata.Continue, &st.Metadata.ResourceVersion}
	if d := st.Details; d != nil {
		texts = append(texts, &d.Name, &d.Group, &d.Kind, &d.UID)
		for i := range d.Causes {
			texts = append(texts, &d.Causes[i].Reason, &d.Causes[i].Message, &d.Causes[i].Field)
		}
	}
	for _, s := range texts {
		*s = k.hide(*s)
	}
}

// concealed is an error whose text held a credential.
type concealed struct {
	err  error
	text string
}

func (e *concealed) Error() string { return e.text }

// Unwrap returns the error, for errors.Is and errors.As.
func (e *concealed) Unwrap() error { return e.err }

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
