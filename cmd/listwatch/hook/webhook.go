package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Webhook posts events to a URL instead of running a command: one as
// application/cloudevents+json, a batch as application/cloudevents-batch+json. Event.Record
// returns the CloudEvent. An answer of 2xx is done; anything else is a failure, which is
// tried again as one of a command is. Redirects are not followed.
type Webhook struct {
	url    *url.URL
	client *http.Client
}

// PostTimeout is how long a receiver may take to answer where Options.Timeout is 0.
const PostTimeout = 30 * time.Second

const (
	maxResponse = 64 << 10 // bytes of a body that are read, so that the connection can be used again
	maxHeader   = 64 << 10
)

// NewWebhook returns a webhook that posts to address. Plain http is for receivers on the
// loopback, unless plain allows it. No error quotes the URL, which may hold a password.
func NewWebhook(address string, plain bool) (*Webhook, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("want an https URL, such as https://example.com/events")
	case u.Scheme == "http" && !plain && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return nil, errors.New("over http everybody in between can read the objects: use https, or allow it by --webhook-allow-http")
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, WriteByteTimeout: 10 * time.Second}, // of a receiver that reads nothing
	}
	return &Webhook{u, &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Host is where events are posted to, for messages: the URL may hold credentials.
func (w *Webhook) Host() string { return w.url.Host }

// post posts events once.
func (p *Pool) post(ctx context.Context, events []Event) error {
	var records [][]byte
	for _, e := range events {
		b, err := e.Record(e)
		if err != nil {
			return permanent{fmt.Errorf("make its event: %w", err)}
		}
		records = append(records, bytes.TrimSuffix(b, []byte("\n")))
	}
	kind, body := "application/cloudevents+json", records[0]
	if p.opts.Batch > 0 {
		kind, body = "application/cloudevents-batch+json", fmt.Appendf(nil, "[%s]", bytes.Join(records, []byte(",")))
	}
	limit := p.opts.Timeout
	if limit == 0 {
		limit = PostTimeout
	}
	ctx, stop := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer stop()
	err := p.opts.Webhook.send(ctx, kind, body)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause == errTimeout:
		return fmt.Errorf("%s did not answer within %v", p.opts.Webhook.Host(), limit)
	case cause != nil:
		return cause
	}
	return fmt.Errorf("%s %w", p.opts.Webhook.Host(), err)
}

// send sends one request. Its errors begin with a verb, and quote nothing of the response,
// in which a receiver can repeat our credentials.
func (w *Webhook) send(ctx context.Context, kind string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("cannot be requested: the URL is not valid")
	}
	req.Header.Set("Content-Type", kind+"; charset=utf-8")
	req.Header.Set("User-Agent", "listwatch")
	resp, err := w.client.Do(req)
	if err != nil {
		return unanswered(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body no timeout ends
		_, _ = io.CopyN(io.Discard, resp.Body, maxResponse)
	}
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode/100 == 3:
		return fmt.Errorf("responds %d %s: redirects are not followed", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return fmt.Errorf("responds %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// unanswered says why there is no response.
func unanswered(err error) error {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect": // it quotes the proxy's answer
		return errors.New("cannot be reached through the proxy")
	case errors.As(err, &op):
		return fmt.Errorf("cannot be reached: %w", op)
	case errors.As(err, &certificate):
		return fmt.Errorf("is not trusted: %w", certificate)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("closes the connection without an answer")
	}
	return errors.New("sends no valid HTTP response")
}
