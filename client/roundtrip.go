package client

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/listwatch/listwatch/internal/hide"
)

// RoundTripper returns a transport for requests of other clients, for instance in a
// proxy: it replaces their credentials and impersonation by those of c. It sends requests
// only to the server of c. After a 401, and after a handshake that failed because of certificates,
// it sends a request without a body again, once, if there is a newer credential or CA.
//
// It has neither the rate limit nor the timeouts of c, because a request may be a watch.
// Responses are returned unchanged, whatever their code and content, but for the credentials of c
// that an error or a header repeats: see [Client.ConcealIn].
func (c *Client) RoundTripper() http.RoundTripper { return forwarder{c} }

type forwarder struct{ c *Client }

// CloseIdleConnections is called by http.Client.
func (f forwarder) CloseIdleConnections() { f.c.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (f forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	c := f.c
	if r.URL.Scheme != c.base.Scheme || r.URL.Host != c.base.Host || r.Host != "" && r.Host != c.base.Host {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("forward %s: the request is for another server than %s", r.Method, c.base)
	}
	id, err := c.creds.current(r.Context())
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("forward %s: %w", r.Method, err)
	}
	resp, err := f.send(r, id)
	v := judge(resp, err)
	if v == welcome || v == doubtful {
		return resp, err
	}
	fresh, _ := c.creds.renew(r.Context(), id, v == refused)
	if fresh == id || r.Body != nil && r.Body != http.NoBody {
		return resp, err // the next request has the new credential
	}
	if resp != nil {
		resp.Body.Close()
	}
	return f.send(r, fresh)
}

// send sends r once, as id.
func (f forwarder) send(r *http.Request, id *identity) (*http.Response, error) {
	out := r.Clone(countDials(r.Context()))
	for name := range out.Header {
		if identifying(name) {
			delete(out.Header, name)
		}
	}
	for name, values := range f.c.header {
		if identifying(name) {
			out.Header[name] = values
		}
	}
	f.c.creds.authorize(out, id)
	used := f.c.connections(id)
	resp, err := used.of(&Request{Watch: true}).Transport.RoundTrip(out)
	if resp != nil {
		hide.Response(resp, f.c.creds.secrets)
	}
	return resp, f.c.Conceal(err)
}

// identifying reports whether a header of that name identifies the user: to
// kube-apiserver, or, for X-Remote-, to a server behind it that trusts the proxy.
func identifying(name string) bool {
	name = strings.ToLower(name)
	return name == "authorization" || name == "proxy-authorization" || name == "cookie" ||
		strings.HasPrefix(name, "impersonate-") || strings.HasPrefix(name, "x-remote-")
}
