package replay

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/hide"
)

// Transport returns a RoundTripper that records the traffic to t; nil = http.DefaultTransport. The
// traffic is unchanged, except that a request that accepts both protobuf and JSON asks for JSON
// only. Bodies of requests are not recorded.
//
// A response that is compressed because the caller requested it, or in protobuf, is
// recorded as filler, because it cannot be redacted. The compression of net/http is
// below t and is not seen.
func (w *Writer) Transport(t http.RoundTripper) http.RoundTripper {
	if t == nil {
		t = http.DefaultTransport
	}
	return &transport{w, t}
}

type transport struct {
	w    *Writer
	next http.RoundTripper
}

// CloseIdleConnections is called by http.Client.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w, id := t.w, t.w.nextID()
	if plain := withoutProtobuf(r.Header.Get("Accept")); plain != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", plain)
	}
	w.add(&Entry{
		Kind: KindReq, At: w.now(), ID: id, Method: r.Method, URL: target(r.URL), Header: allowed(r.Header, requestHeaders),
	})
	w.drain(true)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		w.add(&Entry{Kind: KindEnd, At: w.now(), ID: id, Cause: causeOf(r.Context(), err)})
		w.drain(true)
		return resp, err
	}
	w.add(&Entry{
		Kind: KindResp, At: w.now(), ID: id, Code: resp.StatusCode, Proto: resp.Proto, Header: allowed(resp.Header, responseHeaders),
	})
	if resp.StatusCode == http.StatusSwitchingProtocols {
		w.add(&Entry{Kind: KindEnd, At: w.now(), ID: id, Cause: EndClient}) // the rest is not HTTP
	} else {
		resp.Body = &body{rc: resp.Body, r: r, w: w, id: id, filter: &concealer{filterFor(w.rules, r, resp), hide.Stream{Hide: w.conceal}}}
	}
	w.drain(true)
	return resp, nil
}

// withoutProtobuf returns an Accept header without its clauses for protobuf, "" if
// there are none, or no others.
func withoutProtobuf(accept string) string {
	if !strings.Contains(accept, protobuf) {
		return ""
	}
	clauses := slices.DeleteFunc(strings.Split(accept, ","), func(c string) bool { return strings.Contains(c, protobuf) })
	return strings.Join(clauses, ",")
}

const protobuf = "application/vnd.kubernetes.protobuf"

// body records the body of a response while it is read.
type body struct {
	rc io.ReadCloser
	r  *http.Request
	w  *Writer
	id int

	mu     sync.Mutex // Close may be called while Read waits
	filter filter
	chunks []chunk // read, but not ready
	ready  []byte  // their bytes that are ready
	size   int64
	ended  bool
}

// chunk is the result of one Read.
type chunk struct {
	at time.Duration
	n  int
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.w.drain(true) // the wait may be long
	n, err := b.rc.Read(p)
	b.record(p[:n], err)
	b.w.drain(err != nil)
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.end(EndClient)
	b.w.drain(true)
	return b.rc.Close()
}

func (b *body) record(p []byte, err error) {
	b.mu.Lock()
	if len(p) > 0 && !b.ended {
		b.size += int64(len(p))
		b.chunks = append(b.chunks, chunk{b.w.now(), len(p)})
		fit := b.filter.feed(p)
		b.emit(fit)
		b.filter.taken(len(fit))
	}
	b.mu.Unlock()
	if err != nil {
		b.end(causeOf(b.r.Context(), err))
	}
}

// emit records the chunks that are ready.
func (b *body) emit(fit []byte) {
	b.ready = append(b.ready, fit...)
	ready := b.ready
	for len(b.chunks) > 0 && b.chunks[0].n <= len(ready) {
		c := b.chunks[0]
		e := &Entry{Kind: KindChunk, At: c.at, ID: b.id}
		e.setBody(ready[:c.n])
		b.w.add(e)
		ready, b.chunks = ready[c.n:], b.chunks[1:]
	}
	b.ready = append(b.ready[:0], ready...)
}

func (b *body) end(cause Cause) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	b.emit(b.filter.finish())
	b.filter, b.ready = nil, nil
	b.w.add(&Entry{Kind: KindEnd, At: b.w.now(), ID: b.id, Cause: cause, Bytes: b.size})
}

// Proxy returns a handler that forwards requests to the server at upstream, through t,
// and records them: for clients whose transport cannot be replaced, such as kubectl. It
// forwards pieces as they arrive, and ends a response where the server ended it.
// Requests keep their own credentials, unless t replaces them, as
// [client.Client.RoundTripper] does. Requests to upgrade the connection (exec, attach,
// port-forward) are refused.
//
// Anyone who can reach the handler can reach the server: serve it on the loopback.
func (w *Writer) Proxy(upstream *url.URL, t http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Header.Del("Accept-Encoding") // compressed responses cannot be redacted
		},
		Transport:     w.Transport(t),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the client gets no response either
		},
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			http.Error(rw, "the recording proxy does not upgrade connections", http.StatusNotImplemented)
			return
		}
		proxy.ServeHTTP(rw, r)
	})
}
