package compat_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// tap sits in a client's transport. It notes the requests that were answered,
// and can end the client's watches and keep it from the server.
type tap struct {
	mu       sync.Mutex
	requests map[string]bool
	bodies   map[*tapped]bool // of watches that run
	held     bool
	shorten  int // watches that are to have a short timeout
	ended    int // those of them that the server has ended
}

func newTap() *tap {
	return &tap{requests: make(map[string]bool), bodies: make(map[*tapped]bool)}
}

// errHeld looks as if nobody listened: a reflector then tries the same again.
var errHeld = fmt.Errorf("compat: held back: %w", syscall.ECONNREFUSED)

func (p *tap) wrap(next http.RoundTripper) http.RoundTripper { return &tapTransport{p, next} }

type tapTransport struct {
	*tap
	next http.RoundTripper
}

func (p *tapTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	watch := req.URL.Query().Get("watch") != ""
	line := requestLine(req)
	p.mu.Lock()
	held := p.held
	short := watch && !held && p.shorten > 0
	if short {
		p.shorten--
		req = req.Clone(req.Context())
		q := req.URL.Query()
		q.Set("timeoutSeconds", shortWatch)
		req.URL.RawQuery = q.Encode()
	}
	p.mu.Unlock()
	if held {
		return nil, errHeld
	}
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	mediaType := strings.ReplaceAll(resp.Header.Get("Content-Type"), " ", "")
	p.requests[fmt.Sprintf("%s -> %d %s", line, resp.StatusCode, mediaType)] = true
	if watch && resp.StatusCode == http.StatusOK {
		b := &tapped{ReadCloser: resp.Body, tap: p.tap, short: short}
		p.bodies[b] = true
		resp.Body = b
	}
	return resp, nil
}

// hold cuts the client's watches and answers its requests with an error until
// release.
func (p *tap) hold() {
	p.mu.Lock()
	p.held = true
	bodies := p.bodies
	p.bodies = make(map[*tapped]bool)
	p.mu.Unlock()
	for b := range bodies {
		b.ReadCloser.Close()
	}
}

func (p *tap) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
}

// shortWatch is in seconds. A reflector takes a watch that brought nothing for less
// than a second for an error, and then streams a list again: with a second it would
// be a matter of luck.
const shortWatch = "3"

// shortenWatches gives the next n watches a short timeout, so that the server ends
// them in good order.
func (p *tap) shortenWatches(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shorten = n
}

// hasEnded reports whether the server has ended a shortened watch.
func (p *tap) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended > 0
}

// lines returns the requests of the client with their answers, each once, sorted.
func (p *tap) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for l := range p.requests {
		all = append(all, normal(l))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// tapped is the body of a watch.
type tapped struct {
	io.ReadCloser
	tap   *tap
	short bool
}

func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && b.short {
		b.tap.mu.Lock()
		b.tap.ended++
		b.tap.mu.Unlock()
		b.short = false
	}
	return n, err
}

func (b *tapped) Close() error {
	b.tap.mu.Lock()
	delete(b.tap.bodies, b)
	b.tap.mu.Unlock()
	return b.ReadCloser.Close()
}

// requestLine returns what a request asks for, without what differs from run to
// run.
func requestLine(req *http.Request) string {
	q := req.URL.Query()
	for name, values := range q {
		for i, v := range values {
			switch {
			case name == "timeoutSeconds" || name == "timeout":
				q[name][i] = "T"
			case name == "continue":
				q[name][i] = "C"
			case name == "resourceVersion" && v != "" && v != "0":
				q[name][i] = "RV"
			}
		}
	}
	text, _ := url.QueryUnescape(q.Encode())
	line := req.Method + " " + req.URL.Path
	if text != "" {
		line += "?" + text
	}
	for _, name := range []string{"Accept", "Content-Type"} {
		if v := req.Header.Get(name); v != "" {
			line += " " + strings.ToLower(name) + "=" + strings.ReplaceAll(v, " ", "")
		}
	}
	return line
}
