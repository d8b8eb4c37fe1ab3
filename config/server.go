package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// base parses the URL of a server. As kubectl, it uses http for a host without a scheme,
// and drops a query. Its errors do not show texts that may hold a password.
func base(s string) (u *url.URL, assumed bool, err error) {
	const want = "is not a URL such as https://host:6443"
	full := s
	if assumed = s != "" && !strings.Contains(s, "://"); assumed {
		full = "http://" + s
	}
	u, err = url.Parse(full)
	switch {
	case err == nil && u.User != nil:
		return nil, false, errors.New("holds a user name: put it into the user's entry")
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && (!assumed || u.Path == "" || u.Path == "/"):
		u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
		return u, assumed, nil
	case strings.ContainsAny(s, "@?#"):
		return nil, false, errors.New(want)
	}
	return nil, false, fmt.Errorf("%s %s", quote(s), want)
}

// setProxy sends all requests through the proxy at s. Its errors do not contain s, which
// may hold a password.
func (r *resolver) setProxy(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return errors.New("is not a URL such as http://proxy:3128")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		r.proxy, r.cfg.Client.Proxy = s, http.ProxyURL(u)
		return nil
	}
	return errors.New("has a scheme other than http, https and socks5")
}
