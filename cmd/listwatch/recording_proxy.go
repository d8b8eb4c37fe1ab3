package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
)

// proxyAddress is where --proxy is served.
func (o *recordFlags) proxyAddress() (string, error) {
	address, open, err := listenAddress("--proxy", o.proxy)
	if err == nil && open {
		err = usage("--proxy %s: whoever reaches it has the permissions of this program: give a loopback address", clip(o.proxy))
	}
	return address, err
}

// recordProxy serves the API at --proxy, and records what is asked there.
func (p *program) recordProxy(ctx context.Context, r *recorder, cfg *config.Config) error {
	address, err := r.proxyAddress()
	if err != nil {
		return err
	}
	upstream, err := url.Parse(r.client.Server())
	if err != nil {
		return failed(err) // the client has checked it
	}
	next, err := newLending(cfg.Client)
	if err != nil {
		return &failure{exitUsage, err}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return cannotListen("--proxy", r.proxy, err)
	}
	srv := &http.Server{Handler: guard(r.out.Proxy(upstream, next)), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	at := "http://" + l.Addr().String()
	r.talk.info("record", "recording to "+r.file+" what is asked at "+at+", such as kubectl -s "+at+" get pods -w", "recording", "file", r.file, "url", at)
	if err = p.put(at + "\n"); err == nil {
		err = r.untilFull(ctx)
	}
	srv.Close()
	if e := <-served; err == nil && !errors.Is(e, http.ErrServerClosed) {
		err = failed(e)
	}
	next.CloseIdleConnections()
	return err
}

// untilFull waits for ctx, or for a recording that can take no more.
func (r *recorder) untilFull(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := r.out.Err(); err != nil {
				return failed(fmt.Errorf("record to %s: %w%s", r.file, err, roomFor(err, "it")))
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// guard keeps web pages out: they can send requests to the loopback, and be
// served under a name that leads there.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if host != "localhost" && (err != nil || !ip.IsLoopback()) || r.Header.Get("Origin") != "" {
			http.Error(w, "the recording proxy is for programs of this machine, not for web pages", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// lending adds our credentials to requests that bring none.
type lending struct {
	cfg  client.Config
	next http.RoundTripper
}

func newLending(cfg client.Config) (*lending, error) {
	l := &lending{cfg: cfg}
	cfg.Wrap = func(pool http.RoundTripper) http.RoundTripper {
		l.next = pool // with its TLS; of the two, the one for watches
		return pool
	}
	if _, err := client.New(cfg); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *lending) CloseIdleConnections() {
	if c, ok := l.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (l *lending) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return l.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	token := l.cfg.Token
	if l.cfg.TokenFile != "" {
		b, err := os.ReadFile(l.cfg.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		token = strings.TrimSpace(string(b))
	}
	switch {
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	case l.cfg.Username != "" || l.cfg.Password != "":
		r.SetBasicAuth(l.cfg.Username, l.cfg.Password)
	}
	if i := l.cfg.Impersonate; i.User != "" && r.Header.Get("Impersonate-User") == "" {
		r.Header.Set("Impersonate-User", i.User)
		if i.UID != "" {
			r.Header.Set("Impersonate-Uid", i.UID)
		}
		for _, g := range i.Groups {
			r.Header.Add("Impersonate-Group", g)
		}
	}
	return l.next.RoundTrip(r)
}
