package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	keeper  *keeper
	connect func(*identity) *pools
	apart   func(*identity) *pools // of clients that Apart returns
	header  http.Header            // what every request carries
	limit   *rate.Limiter          // nil = no limit
	timeout time.Duration
	warner  *warner
	trace   *Trace

	encoding Encoding
	refusals *refusals

	mu    sync.Mutex
	pools *pools // replaced when no new request should use them
}

// New checks cfg, reads the files it names, and returns a client that has not
// yet connected.
func New(cfg Config) (*Client, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	keeper, err := newKeeper(cfg, base)
	if err != nil {
		return nil, err
	}
	if i := cfg.Impersonate; i.User == "" && (i.UID != "" || len(i.Groups) > 0 || len(i.Extra) > 0) {
		return nil, errors.New("client: Config.Impersonate names a UID, groups or extra, and no User")
	}
	plain := cfg
	plain.DisableHTTP2 = true
	c := &Client{
		base:    base,
		keeper:  keeper,
		connect: func(id *identity) *pools { return cfg.pools(base, id) },
		apart:   func(id *identity) *pools { return plain.pools(base, id) },
		header:  cfg.Impersonate.header(),
		timeout: cfg.Timeout,
		warner:  newWarner(cfg.Warn, base.Host),
		trace:   cfg.Trace,

		encoding: cfg.Encoding,
		refusals: new(refusals),
	}
	switch c.encoding {
	case EncodingAuto, EncodingJSON:
	default:
		return nil, fmt.Errorf("client: Config.Encoding is %q: want %q or none", c.encoding, EncodingJSON)
	}
	c.pools = c.connect(keeper.peek())
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

// Apart returns a client for the same server, with the same credentials, whose
// requests wait for no others: it has connections of its own and no rate limit. It is
// for the few that must not be late, such as the renewal of a lease. It speaks
// HTTP/1.1, where a request that is given up takes its connection along, so that the
// next is not sent into the same silence. Close its idle connections at the end.
func (c *Client) Apart() *Client {
	return &Client{
		base: c.base, keeper: c.keeper, connect: c.apart, apart: c.apart, header: c.header,
		timeout: c.timeout, warner: c.warner, trace: c.trace, pools: c.apart(c.keeper.peek()),
		encoding: c.encoding, refusals: c.refusals,
	}
}

// Server returns the base URL.
func (c *Client) Server() string { return c.base.String() }

// String shows the server only: %s of a struct would print what it points to.
func (c *Client) String() string { return "client.Client(" + c.base.String() + ")" }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// Request is one HTTP request.
type Request struct {
	Method string // default GET
	Path   string // as kube.Resource.Path gives it: escaped, beginning with /
	Query  url.Values
	Accept string // default application/json

	Body        []byte // may be sent twice, after a 401
	ContentType string // of Body; default application/json

	// Watch sends the request over the watch pool, exempt from the rate limit.
	Watch bool

	// Idle is the longest silence that is borne between two pieces of the
	// body; 0 = Config.Timeout, as before the headers. Time that the caller
	// spends between reads does not count.
	Idle time.Duration
}

// String names the request without its query and body.
func (r Request) String() string { return "client.Request(" + method(&r) + " " + r.Path + ")" }

// Format is String, whatever the verb.
func (r Request) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// MarshalText is String, for logs in JSON.
func (r Request) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Do sends r and returns the answer if its code is 2xx; the caller must close
// its body. Any other answer is a *kube.Status, a failure to get one is the
// transport's error, silence is [ErrIdle], and a 2xx answer that is neither JSON nor
// plain text, as logs and /readyz are, is a *[ContentError]. Cancelling ctx interrupts
// the body too.
//
// It takes any request of the API that is answered by a body: a path with its query, a
// method, and a body with its type, such as the log of a Pod. It does not upgrade a
// connection, as exec, attach and port-forward do. It limits neither the answer, which
// the caller reads, nor what is sent; headers of an answer are limited to 256 KiB, and
// the body of an error to 64 KiB.
//
// After a 401, and after a handshake that failed because of certificates, r is sent
// once again if there is another credential or authority by then; a GET also after a
// connection was lost, if there is another certificate by then. An error of
// [Config.Credentials] is returned as it is, wrapped.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	began := time.Now()
	if !r.Watch && c.limit != nil {
		if c.limit.Wait(ctx) != nil {
			<-ctx.Done() // the limiter says beforehand that its deadline comes first, and not why there is one
			return nil, fmt.Errorf("%s: wait for the rate limit: %w", c.what(r), context.Cause(ctx))
		}
	}
	waited := time.Since(began)
	id, err := c.keeper.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.what(r), err)
	}
	resp, err := c.send(ctx, r, id, Round{Wait: waited})
	switch v := judge(resp, err); {
	case v == welcome, v == doubtful && (id.pair == nil || ctx.Err() != nil):
	default:
		fresh, why := c.keeper.renew(ctx, id, v == refused)
		switch {
		case fresh != id && (v != doubtful || method(r) == http.MethodGet):
			if resp != nil {
				resp.Body.Close()
			}
			resp, err = c.send(ctx, r, fresh, Round{Again: true})
		case fresh != id, why == nil, v == doubtful: // the next request will show
		default:
			if err == nil {
				err = c.statusOf(resp, r)
				resp.Body.Close()
			}
			err = fmt.Errorf("%w; and there is no other credential: %w", err, why)
		}
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, c.statusOf(resp, r)
	}
	if err := c.checkContent(resp, r); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// what names a request in an error: never its query, which may be long.
func (c *Client) what(r *Request) string {
	return method(r) + " " + c.base.String() + r.Path
}

func method(r *Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// send sends r once, as id.
func (c *Client) send(ctx context.Context, r *Request, id *identity, rd Round) (*http.Response, error) {
	target := c.base.String() + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	idle := r.Idle
	if idle <= 0 {
		idle = c.timeout
	}
	rd.Method, rd.Path, rd.Watch = method(r), r.Path, r.Watch
	ctx, done := c.trace.start(ctx, rd, c.keeper.hide)
	var on line
	ctx = on.watch(ctx)
	ctx, watchdog := newWatchdog(ctx, c.timeout)
	var body io.Reader
	if r.Body != nil {
		body = strings.NewReader(string(r.Body)) // a type that net/http can replay
	}
	req, err := http.NewRequestWithContext(ctx, method(r), target, body)
	if err != nil {
		watchdog.stop()
		err = fmt.Errorf("client: %s: bad path or method", c.what(r))
		done(nil, err)
		return nil, err
	}
	for k, v := range c.header {
		req.Header[k] = v
	}
	req.Header.Set("Accept", "application/json")
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
		if r.ContentType != "" {
			req.Header.Set("Content-Type", r.ContentType)
		}
	}
	c.keeper.authorize(req, id)

	used := c.connections(id)
	resp, err := used.of(r).Do(req)
	if err != nil {
		err = watchdog.explain(err)
		watchdog.stop()
		if errors.Is(err, ErrIdle) {
			c.silent(used)
		}
		// *url.Error repeats method and URL with its query: keep its cause.
		if ue := (*url.Error)(nil); errors.As(err, &ue) {
			err = ue.Err
		}
		err = c.Conceal(fmt.Errorf("%s: %w", c.what(r), on.reason(err)))
		done(nil, err)
		return nil, err
	}
	watchdog.disarm()
	watchdog.idle = idle
	resp.Body = &idleBody{rc: resp.Body, dog: watchdog, dead: func() { c.silent(used) }, conceal: c.Conceal}
	unpack(resp)
	done(resp, nil)
	c.warner.hear(resp.Header["Warning"], c.keeper.hide)
	return resp, nil
}

// ContentError is a successful answer that no API server gives, such as the
// login page of a proxy.
type ContentError struct {
	Request     string // method and URL
	ContentType string // what came
}

func (e *ContentError) Error() string {
	return fmt.Sprintf("%s answered %q instead of JSON: this is not a Kubernetes API server, or something stands between it and us; check the server address and the proxy settings", e.Request, e.ContentType)
}

func (c *Client) checkContent(resp *http.Response, r *Request) error {
	what := c.what(r)
	ct := resp.Header.Get("Content-Type")
	if how := resp.Header.Get("Content-Encoding"); how != "" && !strings.EqualFold(how, "identity") {
		return &ContentError{what, clip(c.keeper.hide(ct + " compressed as " + how))} // nobody asked for it
	}
	if ct == "" {
		return nil
	}
	mt, _, err := mime.ParseMediaType(ct)
	if err != nil || mt == "application/json" || strings.HasSuffix(mt, "+json") || mt == "text/plain" {
		return nil // text/plain: /version, /readyz and careless aggregated servers
	}
	if strings.Contains(r.Accept, mt) && isProtobuf(resp.Header) {
		return nil
	}
	return &ContentError{what, clip(c.keeper.hide(ct))}
}

func clip(s string) string { return s[:min(len(s), 80)] }
