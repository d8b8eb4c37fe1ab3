package client

import (
	"fmt"
	"net/http"
	"strings"
)

// Impersonate asks the server to treat our requests as another's. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
type Impersonate struct {
	User   string              // needed where any of the others is set
	UID    string              // of the user
	Groups []string            // that the user is in
	Extra  map[string][]string // what else authenticators know of the user
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
