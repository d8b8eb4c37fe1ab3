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

// Config is the address of a server and how to connect to it. Package config reads it
// from kubeconfig files, [InCluster] from the environment of a pod. Only Server is
// required.
//
// A Config contains secrets. String, and all forms of fmt, log/slog and encoding/json,
// show the server only. There is one exception: fmt shows the secrets of a Config that is
// in an unexported field of another struct.
//
// [New] reads the files, and fails if one is invalid. Requests read them again, at most
// once a minute, and at once after a 401 or a handshake that failed because of
// certificates. When their content has changed, new connections use the new certificates;
// requests on existing connections, such as watches, continue. If the new content is
// invalid, for instance a certificate whose key has not been written yet, the old content
// stays in use; see [Trace.Rotated].
type Config struct {
	// Server is the base URL, http or https; it may have a path prefix.
	Server string
	TLS    TLS

	// Token is a bearer token. TokenFile is a file that contains one, in one line, as kubelet
	// projects it; it has precedence. A new token needs no new connections. See
	// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#putting-a-bearer-token-in-a-request.
	Token     string
	TokenFile string

	// Username and Password are for basic authentication; a token has precedence.
	// kube-apiserver does not support them; a proxy in front of it may.
	Username string
	Password string

	// Credentials, if set, is called before each request, and is used instead of Token,
	// TokenFile, Username, Password and the client certificate of TLS, which must then
	// be empty. After a 401 it is called once for another credential. See
	// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.
	Credentials Source

	// PlainHTTP permits credentials over plain http, where anyone on the network path
	// can read and use them. Without it New refuses Token, TokenFile, Username,
	// Password and Credentials for a server with an http URL, even on the loopback. It
	// is for tests, and for local proxies that add TLS.
	PlainHTTP bool

	// Impersonate, if its User is set, is the user that requests act as.
	Impersonate Impersonate

	// UserAgent defaults to "listwatch".
	UserAgent string

	// FieldManager is the owner of the members that collections of this client write,
	// unless a collection has its own: see [WriteOptions]. Replicas of a program should
	// have the same owner. Default: the server takes the part of UserAgent before "/".
	FieldManager string

	// QPS and Burst limit all requests except watches and logs that are followed, in requests
	// per second. QPS 0 = no limit: the server has priority and fairness, see
	// https://kubernetes.io/docs/concepts/cluster-administration/flow-control/. Burst
	// defaults to twice QPS, at least 1.
	QPS   float64
	Burst int

	// Timeout is the longest silence of the server: before the response headers, and between two
	// pieces of a body. Default 1 minute. A watch sets its own by Request.Idle. Over HTTP/2 pings
	// detect a dead connection within 45 s in any case, and if a server reads nothing of a write,
	// its connection ends after 10 s: until then neither Timeout nor a context ends a request.
	Timeout time.Duration

	// Proxy returns the proxy of a request, as in http.Transport; nil = HTTPS_PROXY, HTTP_PROXY
	// and NO_PROXY. It is called for each request and for errors, which must not show a password.
	Proxy func(*http.Request) (*url.URL, error)

	// Dial opens connections; nil = net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Wrap, if set, wraps each connection pool, to record, count or change requests. There are two
	// pools; new pools, which are wrapped too, replace them when connections are replaced. The
	// wrapper sees credentials. If it does not return the pool's response, it must close the body
	// of that response, and its own body must forward Close. Idle connections are closed without
	// the wrapper.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Warn is called with the warnings of the server, for instance that an API is deprecated, once
	// for each text and client. A text is one line of at most 1 KiB, without control characters.
	// Requests call Warn before their Do returns, also concurrently. After 256 different texts the
	// client forgets all of them, and reports them again. nil logs them by slog.Default, at level
	// Warn. See https://kubernetes.io/blog/2020/09/03/warnings/.
	Warn func(text string)

	// Trace, if set, is called for requests and connections.
	Trace *Trace

	// Compression sets whether responses may be compressed; "" = unless the server is on the
	// loopback without TLS, "gzip" = always, "none" = never. kube-apiserver compresses
	// lists and objects of 128 KiB and more, and since 1.37 watches with initial events.
	Compression string

	// Encoding is the requested encoding of lists, watches, single objects and responses
	// to writes. Request bodies are JSON. EncodingAuto, the default, requests protobuf if
	// the type of the collection can be decoded from it, which takes less time and half
	// of the bytes. It requests JSON for custom resources (but not their metadata,
	// kube.Partial), for a type with a field that is an interface or that the kind does
	// not have, and for codec.Raw. The values are the same. If a server refuses protobuf,
	// or sends protobuf that cannot be decoded, later requests ask for JSON. EncodingJSON
	// always requests JSON.
	Encoding Encoding

	// DisableHTTP2 uses HTTP/1.1 only, with one connection for each watch.
	DisableHTTP2 bool

	// MaxConnAge, if positive, is the age, with a jitter of a fifth, after which connections get no
	// new requests, so that clients spread again over the servers behind a load balancer. Watches
	// stay on their connection until they end, which they do every few minutes. 0 = no limit. Less
	// than some minutes costs many handshakes.
	MaxConnAge time.Duration
}

// Encoding is an encoding of objects.
type Encoding string

// Values of Encoding.
const (
	EncodingAuto Encoding = ""
	EncodingJSON Encoding = "json"
)

// TLS holds the trusted CAs and the client certificate. Data has precedence over files. Files are
// read again when they change, see [Config]; data is constant. All data is PEM. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates.
type TLS struct {
	CAFile     string // CAs that sign the server's certificate; empty = those of the system
	CAData     []byte
	CertFile   string // client certificate, with intermediate certificates; needs a key
	CertData   []byte
	KeyFile    string
	KeyData    []byte
	ServerName string // expected name in the server's certificate; empty = host of Server
	Insecure   bool   // accept any certificate: anyone on the network path can read and change everything
}

// String returns which parts are set, never the data.
func (t TLS) String() string {
	return fmt.Sprintf("client.TLS(ca %s, certificate %s, key %s, server name %q, insecure %t)",
		nameOf(t.CAFile, t.CAData), nameOf(t.CertFile, t.CertData), nameOf(t.KeyFile, t.KeyData), t.ServerName, t.Insecure)
}

// Format writes String, for every verb.
func (t TLS) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalText returns String, for logs in JSON.
func (t TLS) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// String returns the server only.
func (c Config) String() string { return "client.Config(" + redactURL(c.Server) + ")" }

// Format writes String, for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText returns String, for logs in JSON.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

const defaultTimeout = time.Minute

// base checks Server and returns it without trailing slashes.
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
		return nil, fmt.Errorf("client: server %s has no host", redactURL(c.Server))
	case u.User != nil:
		return nil, fmt.Errorf("client: server %s contains a user or password: use Username and Password", redactURL(c.Server))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("client: server %s contains a query or fragment", redactURL(c.Server))
	}
	if u.Scheme == "http" && !c.PlainHTTP && (c.Token != "" || c.TokenFile != "" || c.Username != "" || c.Password != "" || c.Credentials != nil) {
		return nil, fmt.Errorf("client: server %s uses plain http, over which anyone on the network path can read the credentials: use https, remove the credentials, or set Config.PlainHTTP", redactURL(c.Server))
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// redactURL quotes s, which may be anything, without what precedes an @ or follows a ?
// or #. If these are ambiguous, it shows neither.
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
