// Package conceal removes credentials from texts: servers repeat them.
package conceal

import (
	"net/url"
	"strconv"
	"strings"
)

// shortest is the length in bytes of the shortest credential that is removed: shorter ones would
// match what is unrelated.
const shortest = 6

// Text returns text without secrets, as they are and as URLs and quotes have them.
func Text(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		quoted := strconv.Quote(s)
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), quoted[1 : len(quoted)-1]} {
			text = strings.ReplaceAll(text, form, "(hidden)")
		}
	}
	return text
}

// Error returns err without secrets in its text; errors.Is and errors.As find what err wraps.
func Error(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	if text := Text(err.Error(), secrets...); text != err.Error() {
		return &concealed{err, text}
	}
	return err
}

// concealed is an error whose text had a credential.
type concealed struct {
	err  error
	text string
}

func (e *concealed) Error() string { return e.text }

func (e *concealed) Unwrap() error { return e.err }
