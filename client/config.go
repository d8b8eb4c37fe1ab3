package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says how to reach a server. Package config reads one from kubeconfig
// files, [InCluster] from a pod's surroundings. Server is all that is needed.
//
// It holds secrets. Its String shows the server only, and so does every form that
// fmt, log/slog and encoding/json give it; but fmt looks past that where a Config is
// in a field of another struct that is not exported.
//
// Files are read by [New], which fails where one cannot be used, and looked at again
// at most once a minute, when a request is made; and at once after a 401, or after a
// handshake that failed because of certificates. When their content changed, the
// certificates among it are used for new connections: what runs on the old ones,
// such as a watch, goes on. What cannot be used then, as a certificate whose key has
// yet to be written, leaves the old content in use; see [Trace.Rotated].
type Config struct {
	// Server is the base URL, http or https; it may carry a path prefix.
	Server string
	TLS    TLS

	// Token is a bearer token. TokenFile is a file that holds one, in one line, as
	// kubelet projects it; it wins where both are set. A token that changes needs
	// no new connections. See
	// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#putting-a-bearer-token-in-a-request.
	Token     string
	TokenFile string

	// Username and Password are for basic authentication, which a token outweighs.
	// kube-apiserver does not know it; proxies before it may.
	Username string
	Password string

	// Credentials, if set, is asked before each request, and takes the place of
	// Token, TokenFile, Username, Password and the client certificate of TLS, which
	// must then be empty. After a 401 it is asked once for another. See
	// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.
	Credentials Source

	// PlainHTTP lets credentials be sent to a server whose URL is http, where anybody
	// in between can read and use them. Without it New refuses Token, TokenFile, Username,
	// Password and Credentials for such a server, be it on the loopback. It is for tests,
	// and for proxies beside us that add TLS.
	PlainHTTP bool

	// Impersonate, if its User is set, is whom we act for.
	Impersonate Impersonate

	// UserAgent defaults to "listwatch".
	UserAgent string

	// QPS and Burst limit all requests but watches, in requests a second.
	// QPS 0 = no limit: priority and fairness is the server's business, see
	// https://kubernetes.io/docs/concepts/cluster-administration/flow-control/.
	// Burst defaults to twice QPS, at least 1.
	QPS   float64
	Burst int

	// Timeout is the longest silence of the server: before the headers of an
	// answer, and between two pieces of a body. Default 1 minute. A watch sets
	// its own, by Request.Idle. Over HTTP/2 a dead connection is found within
	// 45 s in any case, by pings.
	Timeout time.Duration

	// Proxy chooses a proxy as in http.Transport; nil reads HTTPS_PROXY,
	// HTTP_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)

	// Dial opens connections; nil = net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Wrap, if set, puts something around each connection pool, of which there are
	// two, and others when connections are given up: to record, count or change
	// requests. It sees credentials. It must close every body that it does not pass
	// on, and pass on Close; closing idle connections stays with the pool.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Warn is called with each text that the server sends as a warning, such as that an
	// API is deprecated: once a text and client, in one line, of at most 1 KiB, without
	// control characters. It may be called by several requests at once, before their Do
	// returns. Of more than 256 different texts all are forgotten, and reported again.
	// nil logs them by slog.Default, at level Warn. See
	// https://kubernetes.io/blog/2020/09/03/warnings/.
	Warn func(text string)

	// Trace, if set, is told of requests and connections.
	Trace *Trace

	// Compression says whether answers may be compressed; "" = only where
	// the server is not on the loopback, "gzip" = always, "none" = never.
	// kube-apiserver compresses lists and objects from 128 KiB on.
	Compression string

	// Encoding says in which form lists, watches and single objects are asked for. The
	// answers of writes are in JSON. EncodingAuto, the
	// default, is protobuf where the type of the collection can be filled from it, which
	// takes less time and half of the bytes, and JSON otherwise: for custom resources
	// (but not their metadata, kube.Partial), for a type with a field that is an
	// interface or that the kind does not have, and for codec.Raw. The values are the
	// same. A server that refuses protobuf, or sends what cannot be read, is asked for
	// JSON from then on. EncodingJSON is JSON always.
	Encoding Encoding

	// DisableHTTP2 speaks HTTP/1.1 only, one connection a watch.
	DisableHTTP2 bool

	// MaxConnAge, if positive, is the age, give or take a fifth, from which on
	// connections get no new requests, so that clients spread again over the
	// servers behind a load balancer. Watches go on where they are until they end,
	// which they do every few minutes. 0 = connections are kept as long as they
	// serve. Less than some minutes costs more handshakes than it is worth.
	MaxConnAge time.Duration
}

// Encoding is a form in which a server sends objects.
type Encoding string

// Values of Encoding.
const (
	EncodingAuto Encoding = ""
	EncodingJSON Encoding = "json"
)

// TLS is how to trust the server and what to show it. Data wins over files, and
// never changes; of files see [Config]. All is PEM. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates.
type TLS struct {
	CAFile     string // authorities that sign the server's certificate; empty = the system's roots
	CAData     []byte
	CertFile   string // client certificate, with those between it and its authority; needs a key
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

// Format is String, whatever the verb.
func (t TLS) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalText is String, for logs in JSON.
func (t TLS) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// String shows the server only.
func (c Config) String() string { return "client.Config(" + redactURL(c.Server) + ")" }

// Format is String, whatever the verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String, for logs in JSON.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

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
	if u.Scheme == "http" && !c.PlainHTTP && (c.Token != "" || c.TokenFile != "" || c.Username != "" || c.Password != "" || c.Credentials != nil) {
		return nil, fmt.Errorf("client: server %s speaks plain http, and would be sent credentials that anybody in between can read: use https, leave the credentials out, or set Config.PlainHTTP", redactURL(c.Server))
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
