// Package guard keeps web pages and slow peers away from the listeners of this module:
// the fake server, replays, the recording proxy and the monitor of a watch.
//
// A browser on the same machine sends what any page asks for, to the loopback too: by
// images, forms and scripts, and under a host name of the page's own that leads there
// (DNS rebinding). [Handler] refuses requests that a page of another origin made, and
// those for a host that is not the listener's. [Listen] limits connections, and
// [Server] the time for headers, bodies and idle connections; an answer may take as
// long as it likes, as watches do.
//
// It is no authentication: programs of this machine get through.
package guard

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Options say what a listener takes. The zero value is for the loopback.
type Options struct {
	// Bound is the address of the listener, such as 127.0.0.1:8080. Where it is no
	// loopback address, any IP address is taken as a host: pages cannot be served
	// under one that is not their own.
	Bound string

	// Hosts are names, without a port, that are taken besides localhost, those that end
	// in .localhost, and the loopback addresses. "*" takes all, and leaves DNS
	// rebinding to others, such as a proxy in front.
	Hosts []string

	// Forms are paths whose bodies may be of types that forms have.
	Forms []string

	// Refuse, if set, answers a request that is refused, in place of its text alone. It
	// must not act on the request, nor read its body.
	Refuse func(w http.ResponseWriter, r *http.Request, why *Refusal)
}

// Refusal is why a request was refused.
type Refusal struct {
	Code int
	Text string
}

func (r *Refusal) Error() string { return r.Text }

// Handler hands on to next what [Options.Check] does not refuse, with a limit of time
// for the body.
func Handler(next http.Handler, o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := o.Check(r); why != nil {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Connection", "close")
			if o.Refuse != nil {
				o.Refuse(w, r, why)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(why.Code)
			fmt.Fprintln(w, why.Text)
			return
		}
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && r.ProtoMajor == 1 {
			defer c.answer()()
		}
		next.ServeHTTP(w, limitBody(w, r))
	})
}

// Check returns why r is refused, nil if it is not.
func (o Options) Check(r *http.Request) *Refusal {
	switch {
	case !o.takes(r.Host):
		return &Refusal{http.StatusForbidden, "this host is not served here: use the address of the listener, or allow the host by its options"}
	case crossSite(r):
		return &Refusal{http.StatusForbidden, "this is for programs, not for web pages of another origin"}
	case formLike(r) && !slices.Contains(o.Forms, r.URL.Path):
		return &Refusal{http.StatusUnsupportedMediaType, "a body needs a Content-Type that no form has, such as application/json"}
	}
	return nil
}

// takes says whether a request may name host, with or without a port.
func (o Options) takes(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(hostname(host), "."))
	if slices.Contains(o.Hosts, "*") || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	bound, err := netip.ParseAddr(hostname(o.Bound))
	open := err == nil && !bound.IsLoopback()
	if ip, err := netip.ParseAddr(name); err == nil {
		return open || ip.IsLoopback()
	}
	return name != "" && slices.ContainsFunc(o.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// hostname returns host without a port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// crossSite says whether a page of another origin made r. Browsers say so by
// Sec-Fetch-Site, whatever the method and mode, and by Origin for what a script asks
// for. A page on another port of the same host is "same-site", and no friend.
func crossSite(r *http.Request) bool {
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "same-origin" && site != "none" {
			return true
		}
	}
	for _, origin := range r.Header["Origin"] {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	return false
}

// formLike says whether a page could send the body of r without asking first: browsers
// send these types, and by POST none, without a preflight. See
// https://fetch.spec.whatwg.org/#cors-safelisted-request-header. An update without a type
// is that of a scale by client-go, a POST that of kubectl create --raw: no page sends the
// User-Agent of client-go without a preflight.
func formLike(r *http.Request) bool {
	if r.ContentLength == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	given := r.Header.Get("Content-Type")
	if given == "" {
		return r.Method == http.MethodPost && !strings.Contains(r.UserAgent(), ") kubernetes/")
	}
	kind, _, err := mime.ParseMediaType(given)
	return err != nil || kind == "text/plain" || kind == "multipart/form-data" || kind == "application/x-www-form-urlencoded"
}
