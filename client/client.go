package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/time/rate"

	"github.com/listwatch/listwatch/client/internal/alert"
	"github.com/listwatch/listwatch/internal/clip"
)

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	creds   *credentials
	connect func(*identity) *pools
	isolate func(*identity) *pools // for clients that Isolated returns
	header  http.Header            // of every request
	limit   *rate.Limiter          // nil = no limit
	timeout time.Duration
	warner  *warner
	trace   *Trace

	encoding Encoding
	refusals *refusals
	manager  string // of fields, for writes

	mu    sync.Mutex
	pools *pools // replaced when new requests must not use them
}

// New checks cfg, reads its files, and returns a client that has not connected yet.
func New(cfg Config) (*Client, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	creds, err := newCredentials(cfg, base)
	if err != nil {
		return nil, err
	}
	if i := cfg.Impersonate; i.User == "" && (i.UID != "" || len(i.Groups) > 0 || len(i.Extra) > 0) {
		return nil, errors.New("client: Config.Impersonate has a UID, Groups or Extra, but no User")
	}
	plain := cfg
	plain.DisableHTTP2 = true
	c := &Client{
		base:    base,
		creds:   creds,
		connect: func(id *identity) *pools { return cfg.pools(base, id) },
		isolate: func(id *identity) *pools { return plain.pools(base, id) },
		header:  cfg.Impersonate.header(),
		timeout: cfg.Timeout,
		warner:  newWarner(cfg.Warn, base.Host),
		trace:   cfg.Trace,

		encoding: cfg.Encoding,
		refusals: new(refusals),
		manager:  cfg.FieldManager,
	}
	switch c.encoding {
	case EncodingAuto, EncodingJSON:
	default:
		return nil, fmt.Errorf("client: Config.Encoding is %q: want %q or none", c.encoding, EncodingJSON)
	}
	if n := len(c.manager); n > 128 || strings.ContainsFunc(c.manager, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, fmt.Errorf("client: Config.FieldManager of %d bytes: the API allows 128, of printable characters", n)
	}
	c.pools = c.connect(creds.peek())
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	c.header.Set("User-Agent", cmp.Or(cfg.UserAgent, "listwatch"))
	if cfg.QPS > 0 {
		burst := cfg.Burst
		if burst <= 0 {
			burst = max(1, int(2*cfg.QPS))
		}
		c.limit = rate.NewLimiter(rate.Limit(cfg.QPS), burst)
	}
	return c, nil
}

// Isolated returns a client for the same server with the same credentials, whose
// requests do not wait for others: it has its own connections and no rate limit. It is
// for the few requests that must not be late, such as the renewal of a lease. It uses
// HTTP/1.1, where cancelling a request closes its connection, so that a retry never
// reuses a dead one. Call CloseIdleConnections when it is no longer used.
func (c *Client) Isolated() *Client {
	return &Client{
		base: c.base, creds: c.creds, connect: c.isolate, isolate: c.isolate, header: c.header,
		timeout: c.timeout, warner: c.warner, trace: c.trace, pools: c.isolate(c.creds.peek()),
		encoding: c.encoding, refusals: c.refusals, manager: c.manager,
	}
}

// Server returns the base URL.
func (c *Client) Server() string { return c.base.String() }

// String returns the server only. Without it fmt would print the fields, with credentials.
func (c *Client) String() string { return "client.Client(" + c.base.String() + ")" }

// GoString returns String, for %#v.
func (c *Client) GoString() string { return c.String() }

// Request is one HTTP request.
type Request struct {
	Method string // default GET
	Path   string // as kube.Resource.Path returns it: escaped, beginning with /, without a query
	Query  url.Values
	Accept string // default application/json

	Body        []byte // may be sent again: see [Client.Do]
	ContentType string // of Body; default application/json

	// IfNoneMatch is the ETag of a response that the caller has; while that is current,
	// Do returns a response with code 304 and no body.
	IfNoneMatch string

	// Watch sends the request over the watch pool, exempt from the rate limit.
	Watch bool

	// Idle is the longest silence between two pieces of the body; 0 = Config.Timeout,
	// which also applies before the headers. The time between reads of the caller does
	// not count.
	Idle time.Duration

	slow bool // the headers may come at any time after the request is sent
}

// String returns method and path, without query and body.
func (r Request) String() string { return "client.Request(" + method(&r) + " " + r.Path + ")" }

// Format writes String, for every verb.
func (r Request) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// MarshalText returns String, for logs in JSON.
func (r Request) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Do sends r and returns the response if its code is 2xx, or 304 where IfNoneMatch is
// set; the caller must close its body. For any other response the error is a
// *kube.Status. Without a response the error is that of the transport, or [ErrIdle] if
// the server was silent for too long. For a 2xx response whose body is not JSON, plain
// text (as of logs and /readyz), or protobuf that r.Accept names, the error is a *[ContentError].
// Cancelling ctx also interrupts the reading of the body.
//
// Do supports every request of the API with a response body, for example for the log of a
// Pod. It does not upgrade connections, as exec, attach and port-forward require. Do does
// not limit the size of r, nor of the response, which the caller reads. Response headers
// are limited to 256 KiB, and the body of an error to 64 KiB.
//
// A redirect of a GET that keeps host and query is followed; for any other redirect the error is a
// *kube.Status.
//
// After a 401, and after a handshake that failed because of certificates, r is sent again once if
// there is a newer credential or CA. If c has a client certificate, that is true for a GET after a
// lost connection too. Package net/http sends a request again that did not reach the server, and a
// GET if a connection that was used before breaks before the response; [Trace] does not show that.
// An error of [Config.Credentials] is returned wrapped.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	began := time.Now()
	if !r.Watch && c.limit != nil {
		if c.limit.Wait(ctx) != nil {
			<-ctx.Done() // the limiter fails early if the deadline is too close; wait for the cause
			return nil, fmt.Errorf("%s: wait for the rate limit: %w", c.what(r), context.Cause(ctx))
		}
	}
	waited := time.Since(began)
	id, err := c.creds.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.what(r), err)
	}
	resp, err := c.send(ctx, r, id, RoundTrip{Wait: waited})
	switch v := judge(resp, err); {
	case v == welcome, v == doubtful && (id.pair == nil || ctx.Err() != nil):
	default:
		fresh, why := c.creds.renew(ctx, id, v == refused)
		switch {
		case fresh != id && (v != doubtful || method(r) == http.MethodGet):
			if resp != nil {
				resp.Body.Close()
			}
			resp, err = c.send(ctx, r, fresh, RoundTrip{Again: true})
		case fresh != id, why == nil, v == doubtful: // the next request decides
		default:
			if err == nil {
				err = c.statusOf(resp, r)
				resp.Body.Close()
			}
			err = fmt.Errorf("%w; no other credential is available: %w", err, why)
		}
	}
	if err != nil {
		return nil, err
	}
	if current := r.IfNoneMatch != "" && resp.StatusCode == http.StatusNotModified; !current && (resp.StatusCode < 200 || resp.StatusCode > 299) {
		defer resp.Body.Close()
		return nil, c.statusOf(resp, r)
	}
	if err := c.checkContent(resp, r); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// what names a request in an error, without its query, which may be long.
func (c *Client) what(r *Request) string {
	return method(r) + " " + c.base.String() + r.Path
}

// isPath reports whether path continues a URL as nothing but a path: "@example.com/" would
// make another host of it.
func isPath(path string) bool {
	return (path == "" || path[0] == '/') && !strings.ContainsAny(path, "?#")
}

func method(r *Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// send sends r once, as id.
func (c *Client) send(ctx context.Context, r *Request, id *identity, rd RoundTrip) (*http.Response, error) {
	target := c.base.String() + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	idle := r.Idle
	if idle <= 0 {
		idle = c.timeout
	}
	rd.Method, rd.Path, rd.Watch = method(r), r.Path, r.Watch
	ctx, done := c.trace.start(ctx, rd, c.creds.hide)
	var on alert.Ref
	ctx = on.Watch(ctx)
	ctx, watchdog := newWatchdog(countDials(ctx), c.timeout)
	if r.slow {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { watchdog.disarm() }})
	}
	var body io.Reader
	if r.Body != nil {
		body = strings.NewReader(string(r.Body)) // a type that net/http can send again
	}
	req, err := http.NewRequestWithContext(ctx, method(r), target, body)
	if err != nil || !isPath(r.Path) {
		watchdog.stop()
		err = fmt.Errorf("client: %q %q: bad path or method", method(r), r.Path)
		done(nil, err)
		return nil, err
	}
	for k, v := range c.header {
		req.Header[k] = v
	}
	req.Header.Set("Accept", cmp.Or(r.Accept, "application/json"))
	if r.IfNoneMatch != "" {
		req.Header.Set("If-None-Match", r.IfNoneMatch)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
		if r.ContentType != "" {
			req.Header.Set("Content-Type", r.ContentType)
		}
	}
	c.creds.authorize(req, id)

	used := c.connections(id)
	resp, err := used.of(r).Do(req)
	if err != nil {
		err = watchdog.explain(err)
		watchdog.stop()
		if errors.Is(err, ErrIdle) {
			c.silent(used)
		}
		// *url.Error repeats method and URL with its query: use its cause only.
		if ue := (*url.Error)(nil); errors.As(err, &ue) {
			err = ue.Err
		}
		err = c.Conceal(fmt.Errorf("%s: %w", c.what(r), keepProxy(err, on.Reason(err))))
		done(nil, err)
		return nil, err
	}
	watchdog.disarm()
	watchdog.idle = idle
	resp.Body = &idleBody{rc: resp.Body, dog: watchdog, dead: func() { c.silent(used) }, conceal: c.Conceal}
	unpack(resp)
	done(resp, nil)
	c.warner.read(resp.Header["Warning"], c.creds.hide)
	return resp, nil
}

// ContentError reports a successful response that an API server does not send, such as
// the login page of a proxy.
type ContentError struct {
	Request     string // method and URL
	ContentType string // of the response
}

func (e *ContentError) Error() string {
	return fmt.Sprintf("%s responded with %q instead of JSON: this is not a Kubernetes API server, or a proxy responds in its place; check the server address and the proxy settings", e.Request, e.ContentType)
}

func (c *Client) checkContent(resp *http.Response, r *Request) error {
	what := c.what(r)
	ct := resp.Header.Get("Content-Type")
	if how := resp.Header.Get("Content-Encoding"); how != "" && !strings.EqualFold(how, "identity") {
		return &ContentError{what, clip.Text(c.creds.hide(ct+" compressed as "+how), 80)} // it was not requested
	}
	if ct == "" {
		return nil
	}
	mt, _, err := mime.ParseMediaType(ct)
	if err != nil || mt == "application/json" || strings.HasSuffix(mt, "+json") || mt == "text/plain" {
		return nil // text/plain: /version, /readyz and some aggregated servers
	}
	if strings.Contains(r.Accept, mt) && isProtobuf(resp.Header) {
		return nil
	}
	return &ContentError{what, clip.Text(c.creds.hide(ct), 80)}
}
