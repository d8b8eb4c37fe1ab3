package client

import (
	"context"
	"crypto/tls"
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
	connect func() *pools
	apart   func() *pools // of clients that Apart returns
	cred    *credential
	header  http.Header   // what every request carries
	limit   *rate.Limiter // nil = no limit
	timeout time.Duration

	mu    sync.Mutex
	pools *pools // replaced when a connection was found dead
}

// pools are the connections to the server.
type pools struct {
	unary *http.Client
	watch *http.Client
}

func (c Config) pools(base *url.URL, tc *tls.Config) *pools {
	return &pools{
		unary: &http.Client{Transport: c.wrapped(base, tc.Clone()), CheckRedirect: sameHost},
		watch: &http.Client{Transport: c.wrapped(base, tc.Clone()), CheckRedirect: sameHost},
	}
}

func (p *pools) closeIdle() {
	p.unary.CloseIdleConnections()
	p.watch.CloseIdleConnections()
}

// New checks cfg, reads the files it names, and returns a client that has not
// yet connected.
func New(cfg Config) (*Client, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := cfg.TLS.config()
	if err != nil {
		return nil, err
	}
	cred, err := newCredential(cfg)
	if err != nil {
		return nil, err
	}
	if i := cfg.Impersonate; i.User == "" && (i.UID != "" || len(i.Groups) > 0 || len(i.Extra) > 0) {
		return nil, errors.New("client: Config.Impersonate names a UID, groups or extra, and no User")
	}
	c := &Client{
		base:    base,
		cred:    cred,
		header:  cfg.Impersonate.header(),
		timeout: cfg.Timeout,
		connect: func() *pools { return cfg.pools(base, tlsConfig) },
	}
	plain := cfg
	plain.DisableHTTP2 = true
	c.apart = func() *pools { return plain.pools(base, tlsConfig) }
	c.pools = c.connect()
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	agent := cfg.UserAgent
	if agent == "" {
		agent = "listwatch"
	}
	c.header.Set("User-Agent", agent)
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
	return &Client{base: c.base, connect: c.apart, apart: c.apart, cred: c.cred, header: c.header, timeout: c.timeout, pools: c.apart()}
}

// Server returns the base URL.
func (c *Client) Server() string { return c.base.String() }

// String shows the server only: %s of a struct would print what it points to.
func (c *Client) String() string { return "client.Client(" + c.base.String() + ")" }

// GoString is String, for %#v.
func (c *Client) GoString() string { return c.String() }

// CloseIdleConnections closes connections that serve no request now. Requests
// in flight go on.
func (c *Client) CloseIdleConnections() {
	c.connections().closeIdle()
}

func (c *Client) connections() *pools {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pools
}

// abandon stops using connections of which one was found dead: over HTTP/2 the
// next request would be sent into the same silence. What still runs on them goes
// on.
func (c *Client) abandon(dead *pools) {
	c.mu.Lock()
	first := c.pools == dead
	if first {
		c.pools = c.connect()
	}
	c.mu.Unlock()
	if first {
		dead.closeIdle()
	}
}

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

// Do sends r and returns the answer if its code is 2xx; the caller must close
// its body. Any other answer is a *kube.Status, a failure to get one is the
// transport's error, silence is [ErrIdle], and a 2xx answer that is not JSON is
// a *[ContentError]. Cancelling ctx interrupts the body too.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	if !r.Watch && c.limit != nil {
		if err := c.limit.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, fmt.Errorf("%s: wait for the rate limit: %w", c.what(r), err)
		}
	}
	token := c.cred.token()
	resp, err := c.send(ctx, r, token)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		// The token may have rotated since it was read: read it again, once.
		if fresh, ferr := c.cred.refresh(token); ferr == nil && fresh != token {
			resp.Body.Close()
			resp, err = c.send(ctx, r, fresh)
		}
	}
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, statusOf(resp, c.what(r))
	}
	if err := checkContent(resp, c.what(r)); err != nil {
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

func (c *Client) send(ctx context.Context, r *Request, token string) (*http.Response, error) {
	target := c.base.String() + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	idle := r.Idle
	if idle <= 0 {
		idle = c.timeout
	}
	ctx, watchdog := newWatchdog(ctx, c.timeout)
	var body io.Reader
	if r.Body != nil {
		body = strings.NewReader(string(r.Body)) // a type that net/http can replay
	}
	req, err := http.NewRequestWithContext(ctx, method(r), target, body)
	if err != nil {
		watchdog.stop()
		return nil, fmt.Errorf("client: %s: bad path or method", c.what(r))
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
	c.cred.authorize(req, token)

	used := c.connections()
	hc := used.unary
	if r.Watch {
		hc = used.watch
	}
	resp, err := hc.Do(req)
	if err != nil {
		err = watchdog.explain(err)
		watchdog.stop()
		if errors.Is(err, ErrIdle) {
			c.abandon(used)
		}
		// *url.Error repeats method and URL with its query: keep its cause.
		if ue := (*url.Error)(nil); errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("%s: %w", c.what(r), err)
	}
	watchdog.disarm()
	watchdog.idle = idle
	resp.Body = &idleBody{rc: resp.Body, dog: watchdog, dead: func() { c.abandon(used) }}
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

func checkContent(resp *http.Response, what string) error {
	ct := resp.Header.Get("Content-Type")
	if ct == "" {
		return nil
	}
	mt, _, err := mime.ParseMediaType(ct)
	if err != nil || mt == "application/json" || strings.HasSuffix(mt, "+json") || mt == "text/plain" {
		return nil // text/plain: /version, /readyz and careless aggregated servers
	}
	if len(ct) > 80 {
		ct = ct[:80]
	}
	return &ContentError{what, ct}
}
