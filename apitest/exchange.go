package apitest

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
	"github.com/listwatch/listwatch/apitest/internal/intake"
	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/kube"
)

type connKey struct{}
type exchangeKey struct{}

// errEnd ends a watch normally.
var errEnd = errors.New("the stream ends here")

// Exchange is one request with its response, for handlers of [Server.On]: [ExchangeOf]
// returns it. It is also the ResponseWriter of these handlers, unless another fault
// wraps it. A request is handled in one goroutine, and no method may be called after it
// has ended.
type Exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	srv     *Server
	conn    *network.Conn // nil = the handler is called without a server
	target  target
	entry   *noted
	steps   []*Fault // before the response
	midway  []*Fault // after a number of events
	next    http.HandlerFunc
	refused *guard.Refusal // by the guard of the listener; nil = not refused
	quirks  Quirks
	rewrite []func(w http.ResponseWriter, event []byte)
	finish  []func() // at the normal end of a stream

	code   int
	frames int
	binary *wire.Stream // of a watch in protobuf
	gz     *gzip.Writer
	answer *backlog.Answer // of the response among those that are being sent
	place  backlog.Place   // of what is being sent, answer at first; nil = not counted
	body   intake.Share
	turn   intake.Turn
	large  bool // nothing was written yet, so gzip may still be chosen
}

// target is what a URL identifies.
type target struct {
	table      *store.Table // nil outside resources
	info       *object.Info
	form       *object.Info // the resource as it is served; info is as it is stored
	res        kube.Resource
	verb       string
	key        kube.Key
	collection bool
	sub        string
	one        string // the name of the watched object, if the path has it
}

const gzipFrom = 128 << 10 // minimal size of a compressed body in bytes

// ServeHTTP handles a request that did not come through the server's own listener: in
// process, or through a handler around it. Faults of connections do not apply to it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.serve(w, r, nil) }

// serve handles a request; one that the guard of the listener refused gets a Status.
// The journal has that one too, but faults do not apply.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, refused *guard.Refusal) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	defer func() {
		// net/http would only log it.
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler && s.tb != nil {
				s.tb.Logf("apitest: the handler of %s %s panicked: %v", r.Method, r.URL.Path, v)
			}
			panic(v)
		}
	}()
	x := &Exchange{w: w, srv: s, refused: refused, large: true}
	defer x.body.Release()
	defer x.turn.Release()
	defer x.cutBinary()
	x.answer = s.unread.Answer(x.giveUp)
	defer x.answer.Done()
	x.conn, _ = r.Context().Value(connKey{}).(*network.Conn)
	x.r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if x.target = s.resolve(r); x.target.verb != "watch" {
		x.place = x.answer
		defer s.serving.Add(-1)
		if s.serving.Add(1) > mostServed {
			wire.Busy(w)
			return
		}
	}
	x.entry = s.record(x)
	defer s.recordEnd(x)
	if refused == nil {
		x.steps, x.midway = s.match(x)
	}
	x.step(0)(x, x.r)
	if x.gz != nil {
		x.gz.Close()
	}
}

// step returns the handler from fault i on: the last one is the normal response.
func (x *Exchange) step(i int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if i == len(x.steps) {
			x.next = nil
			x.srv.answer(x, w)
			return
		}
		x.next = x.step(i + 1)
		x.steps[i].handler(w, r)
	}
}

// ExchangeOf returns the exchange of a request that a server of this package passes to
// a handler. It panics for another request.
func ExchangeOf(r *http.Request) *Exchange {
	x, ok := r.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		panic("apitest: a fault's handler is called outside its server")
	}
	return x
}

// Continue, called by a handler of [Server.On], continues with the next fault and finally
// with the normal response, or, after an event, with the stream. It may be called once. w
// may be a ResponseWriter that wraps the handler's; for a watch, only the header of w is used.
func Continue(w http.ResponseWriter, r *http.Request) {
	x, ok := r.Context().Value(exchangeKey{}).(*Exchange)
	if !ok || x.next == nil {
		panic("apitest: Continue called outside a handler, or twice")
	}
	next := x.next
	x.next = nil
	next(w, r)
}

// Header implements http.ResponseWriter.
func (x *Exchange) Header() http.Header { return x.w.Header() }

// WriteHeader implements http.ResponseWriter. It does nothing after a stream has begun.
func (x *Exchange) WriteHeader(code int) {
	if x.code != 0 {
		return
	}
	if code < http.StatusOK { // informational
		x.w.WriteHeader(code)
		return
	}
	x.code = code
	x.srv.recordCode(x)
	if x.target.verb == "watch" && x.srv.options.CompressWatch && code == http.StatusOK {
		x.compress()
	}
	if x.r.Method != http.MethodGet || code != http.StatusOK || x.target.verb == "watch" {
		x.w.WriteHeader(code) // otherwise the first Write does it, when the size is known
		x.large = false
	}
}

// compress chooses gzip if the client accepts it and the response is not compressed.
func (x *Exchange) compress() {
	h := x.w.Header()
	if h.Get("Content-Encoding") == "" && h.Get("Content-Length") == "" && strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		h.Set("Vary", "Accept-Encoding")
		x.gz, _ = gzip.NewWriterLevel(x.w, gzip.BestSpeed) // the level is valid
	}
}

// Write implements http.ResponseWriter.
func (x *Exchange) Write(b []byte) (int, error) {
	if x.binary == nil || x.code != http.StatusOK {
		return x.write(b)
	}
	_, err := x.write(x.binary.Frames(b))
	return len(b), err
}

func (x *Exchange) write(b []byte) (int, error) {
	if x.place == backlog.Place(x.answer) {
		if err := x.answer.Begin(x.r.Context(), int64(len(b))+backlog.Overhead); err != nil {
			return 0, err
		}
		defer x.answer.Done()
	}
	x.turn.Release() // from here on only the client is waited for
	if x.code == 0 {
		x.WriteHeader(http.StatusOK)
	}
	if x.large {
		x.large = false
		if len(b) > gzipFrom {
			x.compress()
		}
		x.w.WriteHeader(x.code)
	}
	out := io.Writer(x.w)
	if x.gz != nil {
		out = x.gz
	}
	n, err := backlog.Send(out, b, x.place)
	if x.place == backlog.Place(x.answer) && x.r.ProtoMajor == 2 && err == nil {
		err = http.NewResponseController(x.w).Flush() // otherwise it waits for its client when x has ended
	}
	return n, err
}

// giveUp ends a response that the client does not read. Another goroutine calls it,
// while place, or an event, is held.
func (x *Exchange) giveUp() {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Unix(1, 0)) // fails for a writer without a connection only
}

// Flush implements http.Flusher.
func (x *Exchange) Flush() {
	if x.large && x.code != 0 {
		x.large = false
		x.w.WriteHeader(x.code)
	}
	if x.gz != nil {
		x.gz.Flush()
	}
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}

// event sends an event of an object, and then whatever faults are due.
func (x *Exchange) event(f *view.Frame, binary bool) error {
	x.place = f
	err := x.pass(f.Bytes, binary)
	x.place = nil
	f.Done()
	if err != nil {
		return err
	}
	return x.sent()
}

// frame sends one event of a watch, and then whatever faults are due.
func (x *Exchange) frame(b []byte) error {
	if err := x.pass(b, false); err != nil {
		return err
	}
	return x.sent()
}

// pass writes an event, as the rewriters change it; binary is one in protobuf.
func (x *Exchange) pass(b []byte, binary bool) (err error) {
	switch {
	case binary:
		_, err = x.write(b)
	case len(x.rewrite) == 0:
		_, err = x.Write(b)
	default:
		x.rewriteFrom(0, slices.Clone(b)) // watches share frames
	}
	return err
}

// sent counts an event, and runs the faults that are due.
func (x *Exchange) sent() error {
	x.frames++
	x.srv.recordFrames(x)
	return x.due()
}

// rewriteFrom passes an event through the rewriters, each of which may write any number
// of pieces.
func (x *Exchange) rewriteFrom(i int, b []byte) {
	if i == len(x.rewrite) {
		x.Write(b) // if the client has gone, the request's context says so
		return
	}
	x.rewrite[i](&rewriting{x, i + 1}, b)
}

// rewriting is the writer of rewriter i-1: its output goes to rewriter i.
type rewriting struct {
	x *Exchange
	i int
}

func (w *rewriting) Header() http.Header  { return w.x.Header() }
func (w *rewriting) WriteHeader(code int) {}
func (w *rewriting) Flush()               { w.x.Flush() }
func (w *rewriting) Write(b []byte) (int, error) {
	w.x.rewriteFrom(w.i, b)
	return len(b), nil
}

// due runs the faults that wait for the number of events sent so far.
func (x *Exchange) due() error {
	for len(x.midway) > 0 && x.midway[0].match.AfterEvent <= x.frames {
		f := x.midway[0]
		x.midway = x.midway[1:]
		if !x.srv.take(f, x) {
			continue
		}
		goOn := false
		x.next = func(http.ResponseWriter, *http.Request) { goOn = true }
		x.Flush()
		f.handler(x, x.r)
		x.next = nil
		if !goOn {
			return errEnd
		}
	}
	return nil
}

// orderlyEnd runs what rewriters have deferred.
func (x *Exchange) orderlyEnd() {
	for _, f := range x.finish {
		f()
	}
	x.Flush()
}

// cutBinary sends the written part of a protobuf event without its end.
func (x *Exchange) cutBinary() {
	if x.binary == nil {
		return
	}
	if b := x.binary.Cut(); b != nil {
		x.write(b) // an error means that the client has gone
		x.Flush()
	}
}
