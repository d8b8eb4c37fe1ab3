package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says how to reach a server. Package config reads one from kubeconfig
// files, [InCluster] from a pod's surroundings. It holds secrets: its String
// shows the server only.
type Config struct {
	// Server is the base URL, http or https; it may carry a path prefix.
	Server string
	TLS    TLS

	// Token is a bearer token. TokenFile is a file that holds one; it is read
	// again every minute and after a 401, and wins where both are set.
	Token     string
	TokenFile string

	// Username and Password are for basic authentication, which a token outweighs.
	Username string
	Password string

	Impersonate Impersonate

	// UserAgent defaults to "listwatch".
	UserAgent string

	// QPS and Burst limit all requests but watches, in requests a second.
	// QPS 0 = no limit: API priority and fairness is the server's business.
	// Burst defaults to twice QPS, at least 1.
	QPS   float64
	Burst int

	// Timeout is the longest silence of the server: before the headers of an
	// answer, and between two pieces of a body. Default 1 minute. A watch sets
	// its own, by Request.Idle.
	Timeout time.Duration

	// Proxy chooses a proxy as in http.Transport; nil reads HTTPS_PROXY,
	// HTTP_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)

	// Dial opens connections; nil = net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Wrap, if set, puts something around each of the two connection pools: to
	// record, count or trace requests. It sees credentials. It must close every
	// body that it does not pass on, and pass on Close; closing idle connections
	// stays with the pool.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Compression says whether answers may be compressed; "" = only where
	// the server is not on the loopback, "gzip" = always, "none" = never.
	Compression string

	// DisableHTTP2 speaks HTTP/1.1 only, one connection a watch.
	DisableHTTP2 bool
}

// TLS is how to trust the server and what to show it. Data wins over files.
type TLS struct {
	CAFile     string // PEM; empty = the system's roots
	CAData     []byte
	CertFile   string // client certificate and key, PEM
	CertData   []byte
	KeyFile    string
	KeyData    []byte
	ServerName string // name expected in the server's certificate; empty = Server's host
	Insecure   bool   // trust any certificate: anybody in between can read and write all
}

// String names what is set, never the data.
func (t TLS) String() string {
	return fmt.Sprintf("client.TLS(ca %s, certificate %s, key %s, server name %q, insecure %t)",
		nameOf(t.CAFile, t.CAData), nameOf(t.CertFile, t.CertData), nameOf(t.KeyFile, t.KeyData), t.ServerName, t.Insecure)
}

// GoString is String, for %#v.
func (t TLS) GoString() string { return t.String() }

// Impersonate asks the server to treat our requests as another's. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation.
type Impersonate struct {
	User   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// String shows the server only.
func (c Config) String() string { return "client.Config(" + redactURL(c.Server) + ")" }

// GoString shows the server only, for %#v.
func (c Config) GoString() string { return c.String() }

const defaultTimeout = time.Minute

// base checks Server and returns it without a trailing slash.
func (c Config) base() (*url.URL, error) {
	if c.Server == "" {
		return nil, errors.New("client: Config.Server is empty: want a URL such as https://127.0.0.1:6443")
	}
	u, err := url.Parse(c.Server)
	if err != nil {
		return nil, fmt.Errorf("client: server %s is not a URL", redactURL(c.Server))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("client: server %s: want http:// or https://", redactURL(c.Server))
	case u.Hostname() == "":
		return nil, fmt.Errorf("client: server %s names no host", redactURL(c.Server))
	case u.User != nil:
		return nil, fmt.Errorf("client: server %s carries a user or password: use Username and Password", redactURL(c.Server))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("client: server %s carries a query or fragment", redactURL(c.Server))
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// redactURL quotes s, which may be anything, without what stands before an @ or
// after a ? or #. Where it cannot tell these apart it shows neither.
func redactURL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	at, end := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?#")
	switch {
	case end < 0:
		rest = rest[at+1:]
	case at < end:
		rest = rest[at+1 : end]
	default:
		rest = "..."
	}
	if ok {
		rest = scheme + "://" + rest
	}
	return fmt.Sprintf("%q", rest)
}
