package client

import (
	"fmt"
	"net/http"
	"strings"
)

// Impersonate makes requests act as another user. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
type Impersonate struct {
	User   string              // required if any other field is set
	UID    string              // of the user
	Groups []string            // of the user
	Extra  map[string][]string // other attributes of the user
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

// escapeExtra percent-encodes characters that are invalid in an HTTP header name, as
// the server expects for the keys of extra.
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
