package replay

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/hide"
)

// Recorded headers of a request and its response. All others are dropped, above all
// Authorization, Cookie and those that a proxy adds.
var (
	requestHeaders  = []string{"Accept", "Content-Type", "User-Agent"}
	responseHeaders = []string{"Audit-Id", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Type", "Retry-After",
		"Warning", "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"}
)

func allowed(h http.Header, names []string) http.Header {
	kept := http.Header{}
	for _, name := range names {
		if v := h.Values(name); len(v) > 0 {
			kept[name] = slices.Clone(v)
		}
	}
	return kept
}

// target returns the recorded form of a URL: path and query, without the values of
// parameters with the name of a secret, and of all parameters for a program behind the
// API server.
func target(u *url.URL) string {
	t := u.EscapedPath()
	if t == "" {
		t = "/"
	}
	if u.RawQuery == "" {
		return t
	}
	proxied := subresource(u) == "proxy"
	params := strings.Split(u.RawQuery, "&")
	for i, p := range params {
		name, value, _ := strings.Cut(p, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if (proxied || sensitive(name)) && value != "" {
			params[i] = p[:len(p)-len(value)] + blank(len(value))
		}
	}
	return t + "?" + strings.Join(params, "&")
}

func sensitive(param string) bool {
	param = strings.ToLower(param)
	return slices.ContainsFunc([]string{"token", "secret", "password", "credential"},
		func(s string) bool { return strings.Contains(param, s) })
}

// subresource returns "log" or "proxy" if the path is that subresource of a pod, service or
// node, or below it; else "". Its response is the text of a program, not of the API server.
func subresource(u *url.URL) string {
	parts := strings.Split(strings.ToLower(u.Path), "/")
	for i := 0; i+2 < len(parts); i++ {
		switch resource, sub := parts[i], parts[i+2]; {
		case i > 0 && parts[i-1] == "namespaces": // resource is the name of one
		case sub == "log" && resource == "pods",
			sub == "proxy" && (resource == "pods" || resource == "services" || resource == "nodes"):
			return sub
		}
	}
	return ""
}

// blank returns n bytes of filler.
func blank(n int) string { return strings.Repeat(filler, n/len(filler)+1)[:n] }

// A filter redacts the bytes of a body, without changing their number.
type filter interface {
	feed(b []byte) []byte // the bytes that are ready, valid until the next call
	taken(n int)
	finish() []byte
}

// filterFor returns the filter of a response.
func filterFor(rules Redaction, r *http.Request, resp *http.Response) filter {
	parts := strings.Split(strings.ToLower(r.URL.Path), "/")
	api := slices.Contains(parts, "api") || slices.Contains(parts, "apis")
	forced := slices.Contains(parts, "secrets")
	typ, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := typ == "application/json" || strings.HasSuffix(typ, "+json") || typ == ""
	isText := strings.HasPrefix(typ, "text/")
	failed := resp.StatusCode < 200 || resp.StatusCode > 299
	switch sub := subresource(r.URL); {
	case sub == "proxy", sub == "log" && !(isJSON && failed):
		return &withheld{} // even if it is JSON
	case err != nil && resp.Header.Get("Content-Type") != "", resp.Header.Get("Content-Encoding") != "":
		return &withheld{} // its content is unreadable
	case isJSON:
		red := newRedactor(rules, forced, api)
		red.failed = failed
		return red
	case isText && !forced && (!api || failed || typ == "text/html"):
		return &verbatim{} // /readyz, the page of a proxy
	case typ == "text/plain":
		return newRedactor(rules, forced, api) // some aggregated servers; logs become filler
	}
	return &withheld{}
}

// concealer hides the credentials that the server repeats, also one in pieces, before filter.
type concealer struct {
	filter
	stream hide.Stream
}

func (c *concealer) feed(b []byte) []byte { return c.filter.feed(c.stream.Feed(b, false)) }

func (c *concealer) finish() []byte {
	rest := slices.Clone(c.filter.feed(c.stream.Feed(nil, true)))
	c.filter.taken(len(rest))
	return append(rest, c.filter.finish()...)
}

// withheld replaces everything, so that only sizes are kept.
type withheld struct{ buf []byte }

func (w *withheld) feed(b []byte) []byte {
	w.buf = append(w.buf[:0], blank(len(b))...)
	return w.buf
}
func (w *withheld) taken(int)      {}
func (w *withheld) finish() []byte { return nil }

// verbatim keeps everything.
type verbatim struct{}

func (verbatim) feed(b []byte) []byte { return b }
func (verbatim) taken(int)            {}
func (verbatim) finish() []byte       { return nil }
