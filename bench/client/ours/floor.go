package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/listwatch/listwatch/bench/probe"
)

// floor starts clients that read the same bytes as the others and throw them
// away: what no client can do without.
func floor(ctx context.Context, r *probe.Run, accept string, failed chan<- error) (stored func() int, err error) {
	h := &http.Client{Transport: &http.Transport{DisableCompression: true, TLSClientConfig: r.TLS.Clone(), ForceAttemptHTTP2: r.TLS != nil}}
	for i, sinks := range r.Sinks {
		base := r.Server + r.Path
		if ns := r.Namespace(i); ns != "" {
			base = r.Server + "/api/v1/namespaces/" + ns + "/" + r.Kind
		}
		f := reader{h, base, accept, r.Initial == probe.Paged, sinks}
		go func() { failed <- f.run(ctx) }()
	}
	return func() int { return 0 }, nil
}

type reader struct {
	http   *http.Client
	url    string
	accept string
	paged  bool
	sinks  []*probe.Sink
}

func (f reader) run(ctx context.Context) error {
	q := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}}
	if f.paged {
		if err := f.pages(ctx); err != nil {
			return err
		}
	} else {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
	resp, err := f.get(ctx, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !f.paged {
		if err := discard(resp, probe.InitialHeader, nil); err != nil {
			return err
		}
	}
	for _, s := range f.sinks {
		s.Synced()
	}
	if err := discard(resp, probe.EventsHeader, f.sinks[0]); err != nil {
		return err
	}
	for _, s := range f.sinks {
		s.Done()
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f reader) pages(ctx context.Context) error {
	q := url.Values{"limit": {"500"}}
	for {
		resp, err := f.get(ctx, q)
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(io.Discard, struct{ io.Reader }{resp.Body}, make([]byte, 64<<10))
		resp.Body.Close()
		if err != nil {
			return err
		}
		next := resp.Header.Get(probe.ContinueHeader)
		if next == "" {
			return nil
		}
		q.Set("continue", next)
	}
}

func (f reader) get(ctx context.Context, q url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", f.accept)
	resp, err := f.http.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", f.url, resp.Status)
	}
	return resp, err
}

// discard reads as many bytes as a header says, and gives them to sink, if
// there is one.
func discard(resp *http.Response, header string, sink *probe.Sink) error {
	n, err := strconv.Atoi(resp.Header.Get(header))
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for n > 0 {
		got, err := resp.Body.Read(buf[:min(n, len(buf))])
		if sink != nil {
			sink.Arrived(buf[:got])
		}
		if n -= got; err != nil && n > 0 {
			return err
		}
	}
	return nil
}
