package manager

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/reviews"
)

// gate passes requests that the API server permits, by TokenReviews and SubjectAccessReviews.
type gate struct {
	client    *client.Client
	audiences []string
	log       *slog.Logger
	asking    chan struct{} // has one element for each review in progress

	mu      sync.Mutex
	known   map[question]verdict
	waiting map[string]int // requests that need a review, by the address of the client
	failing bool           // the last review failed, and that was logged
}

// question is whether the bearer of a token may send a request.
type question struct {
	token        [sha256.Size]byte
	method, path string
}

// verdict is the status code for a question, 200 if the request passes.
type verdict struct {
	code  int
	until time.Time
}

const (
	passesFor  = time.Minute
	refusedFor = 10 * time.Second

	maxVerdicts  = 1000
	maxReviews   = 8 // at a time
	maxWaiting   = 4 // requests of one address that need a review, others get 429
	reviewWithin = 5 * time.Second
)

func newGate(s *Secure, log *slog.Logger) *gate {
	return &gate{client: s.Client.Isolated(), audiences: s.Audiences, log: log, asking: make(chan struct{}, maxReviews), known: make(map[question]verdict), waiting: make(map[string]int)}
}

// before returns a handler that calls next for the requests that pass.
func (g *gate) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := g.code(r)
		switch code {
		case http.StatusOK:
			next.ServeHTTP(w, r)
			return
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, http.StatusText(code), code)
	})
}

// code returns the status code for a request.
func (g *gate) code(r *http.Request) int {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return http.StatusUnauthorized
	}
	q := question{sha256.Sum256([]byte(token)), r.Method, r.URL.Path}
	if code, ok := g.remembered(q); ok {
		return code
	}
	leave, ok := g.enter(r.RemoteAddr)
	if !ok {
		return http.StatusTooManyRequests
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), reviewWithin)
	defer cancel()
	select {
	case g.asking <- struct{}{}:
		defer func() { <-g.asking }()
	case <-ctx.Done():
		return http.StatusServiceUnavailable
	}
	if code, ok := g.remembered(q); ok { // another request had the same question meanwhile
		return code
	}
	code, err := g.review(ctx, token, r)
	g.report(r.Context(), err)
	if err != nil {
		return http.StatusServiceUnavailable
	}
	g.remember(q, code)
	return code
}

// enter counts a request that needs a review; ok is false if too many of its address wait
// for one. A client that invents tokens does not keep others out.
func (g *gate) enter(remote string) (leave func(), ok bool) {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting[address] >= maxWaiting {
		return nil, false
	}
	g.waiting[address]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.waiting[address]--; g.waiting[address] == 0 {
			delete(g.waiting, address)
		}
	}, true
}

func (g *gate) remembered(q question) (code int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.known[q]
	return v.code, ok && time.Now().Before(v.until)
}

func (g *gate) remember(q question, code int) {
	v := verdict{code, time.Now().Add(refusedFor)}
	if code == http.StatusOK {
		v.until = time.Now().Add(passesFor)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxVerdicts {
		maps.DeleteFunc(g.known, func(_ question, v verdict) bool { return !time.Now().Before(v.until) })
	}
	if len(g.known) >= maxVerdicts { // refused tokens, which a client may invent
		maps.DeleteFunc(g.known, func(_ question, v verdict) bool { return v.code != http.StatusOK })
	}
	if len(g.known) < maxVerdicts {
		g.known[q] = v
	}
}

// report logs the first of several errors in a row.
func (g *gate) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return // the client has left
	}
	g.mu.Lock()
	first := err != nil && !g.failing
	g.failing = err != nil
	g.mu.Unlock()
	if first {
		g.log.Warn("it is not known who may read the metrics", "err", err)
	}
}

// review asks the API server for the user of the token, and whether that user may send the
// request.
func (g *gate) review(ctx context.Context, token string, r *http.Request) (code int, err error) {
	user, ok, err := reviews.Token(ctx, g.client, token, g.audiences)
	if err != nil {
		return 0, err
	}
	if !ok {
		return http.StatusUnauthorized, nil
	}
	ok, err = reviews.Access(ctx, g.client, user, reviews.Path{Path: r.URL.Path, Verb: strings.ToLower(r.Method)})
	if err != nil {
		return 0, err
	}
	if !ok {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
