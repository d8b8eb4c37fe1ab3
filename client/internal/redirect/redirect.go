// Package redirect decides which redirects of an API server are followed: those of a GET
// to the same host, which has our credentials, with the same query but for the hash of
// OpenAPI documents, because another query selects other objects. A redirected write would
// be sent as a GET, or without its query.
package redirect

import (
	"fmt"
	"net/http"
	"net/url"
)

// Check is a CheckRedirect of http.Client. It lets Do return a redirect that is not followed.
func Check(req *http.Request, via []*http.Request) error {
	if cause(via[0], req.URL, len(via)) != "" {
		return http.ErrUseLastResponse
	}
	return nil
}

// Cause returns why an http.Client with Check has returned a response with a code 3xx.
func Cause(resp *http.Response) string {
	first, n := resp.Request, 1
	for first != nil && first.Response != nil {
		first, n = first.Response.Request, n+1
	}
	next, err := resp.Location()
	if err != nil {
		return "a redirect without an address: not followed"
	}
	if first != nil { // a RoundTripper of somebody else may leave it out
		if why := cause(first, next, n); why != "" {
			return why
		}
	}
	return fmt.Sprintf("a redirect with the code %d: not followed", resp.StatusCode)
}

// cause returns why the n-th redirect of first, to next, is not followed; "" if it is.
func cause(first *http.Request, next *url.URL, n int) string {
	was, is := first.URL.Query(), next.Query()
	is["hash"] = was["hash"]
	switch {
	case first.Method != http.MethodGet:
		return "a redirect of a write, which could be lost: not followed"
	case next.Host != first.URL.Host || next.Scheme != first.URL.Scheme:
		return "a redirect to another host or scheme, which could get the credentials: not followed"
	case was.Encode() != is.Encode():
		return "a redirect with another query, which could select other objects: not followed"
	case n > 3:
		return "the fourth redirect: not followed"
	}
	return ""
}
