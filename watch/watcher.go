package watch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Watcher follows one collection. Events is for one goroutine at a time; the
// other methods are safe for concurrent use.
type Watcher[T kube.Object] struct {
	col      client.Collection[T]
	protocol protocol

	contact atomic.Int64  // unix nanoseconds
	retry   chan struct{} // see Retry

	mu       sync.Mutex
	revision kube.Revision
	memory   memory
}

// New returns a watcher. It sends no request before Events is called.
func New[T kube.Object](c client.Collection[T], o Options) *Watcher[T] {
	return &Watcher[T]{col: c, protocol: protocol{o.defaults(), rand.Float64}, revision: o.Revision, retry: make(chan struct{}, 1)}
}

// Revision returns the revision of the last event that the loop over Events has completely
// handled: it is safe to resume from there. Before the first event it is Options.Revision.
// Between RESTART and SYNCED it does not change; before the first SYNCED it may be empty.
func (w *Watcher[T]) Revision() kube.Revision {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.revision
}

// LastContact returns the time of the last event, bookmark, page or check of the revision, or of
// the last watch that was accepted. Zero = none. A healthy server sends something each minute.
func (w *Watcher[T]) LastContact() time.Time {
	if n := w.contact.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Events lists and watches until ctx is done, the loop is left, or an error occurs that
// no retry can resolve. There are two such errors: the collection is invalid (see
// client.Collection.Check), or the server rejects the request as invalid before anything
// was synced (kube.ErrInvalid), for instance because of an unknown field selector.
//
// Such an error, or the cause of ctx when it is done, is the last element. Any other
// error is a report, and the loop continues: an *[Interruption], which names the next
// request and the pause before it, or a *codec.ItemError, for an object that could not be
// decoded or whose name is invalid (kube.CheckIdentity), with an event that holds the
// readable part. Every pause after a request is reported in this way, except the pause before
// lists replace streaming: Trace.Fallback reports that. A request that ended normally or with
// kube.ErrGone is not reported if the next one follows at once. Forbidden and not found
// are interruptions too: permissions and resources may return. To give up, leave the
// loop.
//
// When Events is called again, it resumes from Revision, or lists again if the loop was
// left between RESTART and SYNCED. The limit of requests is not reset, and lists replace streaming
// if streaming has failed before.
func (w *Watcher[T]) Events(ctx context.Context) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		if err := w.col.Check(); err != nil {
			yield(Event[T]{}, fmt.Errorf("watch %s: %w", w.col, err))
			return
		}
		p := w.protocol
		p.opts.Revision = w.Revision()
		m := w.recall()
		r := run[T]{Watcher: w, ctx: ctx, yield: yield, state: p.start(m), listing: m.listing}
		defer func() { w.remember(r.state, r.left, r.listing) }()
		for r.state.op != OpNone {
			var err error
			if r.state.wait, err = p.await(ctx, &r.state, w.retry); err != nil {
				break
			}
			o := r.request()
			w.forgetRetry() // before the report, during which Retry may be called
			if r.left {
				return
			}
			if ctx.Err() != nil {
				break
			}
			next := p.step(r.state, o)
			more := r.report(next, o)
			if r.state = next; !more {
				return
			}
		}
		if r.state.op != OpNone {
			yield(Event[T]{}, context.Cause(ctx))
		}
	}
}

// memory is what a Watcher keeps from one call of Events to the next.
type memory struct {
	noStream bool
	noShard  bool
	probed   bool  // Options.Seen was compared with the server's revision
	listing  bool  // the collection must be listed again: the last list was not completed
	cause    error // listing: why it lists
	debt     time.Duration
	at       time.Time
}

func (w *Watcher[T]) recall() memory {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.memory
	m.debt = max(0, m.debt-time.Since(m.at))
	return m
}

// remember keeps the state at the end of a call. left: the caller left during a request,
// which the state does not count. listing: it got RESTART, and did not return from SYNCED.
func (w *Watcher[T]) remember(s state, left, listing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory = memory{noStream: s.noStream, noShard: s.noShard && s.doubt == nil, probed: s.op != OpProbe || s.seen == "", debt: s.debt, at: time.Now()}
	// A restored server is known before RESTART is yielded.
	if listing || (s.op == OpList || s.op == OpStream) && errors.Is(s.cause, ErrAhead) {
		w.memory.listing, w.memory.cause = true, s.cause
	}
	if left {
		w.memory.debt += requestCost
	}
}

// run is one loop over Events.
type run[T kube.Object] struct {
	*Watcher[T]
	ctx   context.Context // of this call only
	yield func(Event[T], error) bool
	state state
	left  bool      // the caller left the loop
	lost  time.Time // when the last watch ended

	listing bool // between RESTART and SYNCED

	progress list.Progress // of the list in progress
}

func (r *run[T]) request() outcome {
	switch r.state.op {
	case OpList:
		return r.list()
	case OpProbe:
		return r.probe()
	default:
		return r.watch()
	}
}

// list requests one page. The revision does not change between the first page and
// SYNCED.
func (r *run[T]) list() (o outcome) {
	cur, began := r.state.cur, time.Now()
	restarted := !cur.First() // RESTART was yielded
	restart := func() bool {
		if restarted {
			return true
		}
		restarted, r.progress = true, list.Progress{}
		return r.give(Event[T]{Type: Restart, Cause: r.state.cause}, nil)
	}
	opts := r.protocol.opts
	event := decoderOf(r.col, opts.Shard)
	decode := func(b []byte) (Event[T], error) { return event(codec.Frame{Type: string(Added), Object: b}) }
	for ev, err := range list.Page(r.ctx, r.col, &cur, r.protocol.asked(r.state).list(), decode, &o.meta) {
		if err != nil && !codec.IsItem(err) {
			o.err = err
			break
		}
		r.heard()
		if ev.Type == outside || list.OutsideItem(opts.Shard, err) {
			o.outside++
			continue
		}
		if bad := (*codec.ItemError)(nil); ev.Type == "" && errors.As(err, &bad) {
			ev = quarantined[T](Added, bad) // too large to be decoded
		}
		if !restart() || !r.give(ev, err) {
			return o
		}
		o.events++
	}
	o.lasted = time.Since(began)
	o.lived = o.lasted
	if o.err != nil || !restart() {
		return o
	}
	r.heard()
	more, err := cur.Page(o.meta, o.events+o.outside)
	if err != nil {
		return o // the machine detects it too
	}
	r.progress.Pages++
	r.progress.Items += o.events
	r.progress.Remaining, r.progress.Revision, r.progress.Done = o.meta.Remaining, cur.Revision(), !more
	r.progress.Inconsistent, r.progress.Sharded = cur.Inconsistent, o.meta.Sharded
	if f := opts.Trace.Listed; f != nil {
		f(r.progress)
	}
	if !more && cur.Revision() != "" {
		if ev := (Event[T]{Type: Synced, Revision: cur.Revision()}); r.give(ev, nil) {
			r.advance(ev)
		}
	}
	return o
}

// watch reads one watch, or one initial stream and the watch that it becomes.
func (r *run[T]) watch() (o outcome) {
	initial, began, opts := r.state.op == OpStream, time.Now(), r.protocol.opts
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)

	var mark *markDeadline // until the initial objects are complete
	var opened, first time.Time
	open := func() {
		o.opened, opened = true, time.Now()
		r.heard()
		if initial {
			mark = newMarkDeadline(opts.MarkerTimeout, func() { cancel(errNoMark) })
		}
		r.connected()
	}
	restarted := false
	query := r.protocol.asked(r.state).query(r.state.from, initial, r.protocol.rnd)
	if n, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		o.asked = time.Duration(n) * time.Second
	}
	for ev, err := range once(ctx, r.col, query, opts, open) {
		if err != nil && !codec.IsItem(err) {
			o.err = err
			break
		}
		r.heard()
		if o.frames++; o.frames == 1 {
			first = time.Now()
		}
		if ev.Type == outside {
			if initial {
				mark.pause(Added, ev.Revision)
				mark.resume()
			} else {
				o.revision = r.advance(ev)
			}
			continue
		}
		if initial {
			mark.pause(ev.Type, ev.Revision)
		}
		if initial && !restarted {
			restarted = true
			if !r.give(Event[T]{Type: Restart, Cause: r.state.cause}, nil) {
				break
			}
		}
		switch {
		case ev.Type == Synced && initial:
			initial, o.synced = false, ev.Revision
		case ev.Type == Synced:
			ev.Type = Bookmark // an unexpected mark
		}
		if !r.give(ev, err) {
			break
		}
		if initial {
			mark.resume()
		} else {
			o.revision = r.advance(ev)
		}
		if ev.Type != Bookmark && ev.Type != Synced {
			o.events++
		}
	}
	if mark != nil {
		mark.stop()
	}
	if o.lasted = time.Since(began); o.opened {
		o.lived = time.Since(opened)
	}
	if o.frames > 0 {
		o.flowed = time.Since(first)
	}
	if cause := context.Cause(ctx); errors.Is(cause, errNoMark) {
		o.err = cause
	}
	return o
}

// probe requests the server's revision by a list of one object.
func (r *run[T]) probe() (o outcome) {
	lo := r.protocol.opts.list()
	lo.Limit, lo.Shard = 1, kube.Shard{}
	skip := func([]byte) (struct{}, error) { return struct{}{}, nil }
	for _, err := range list.Page(r.ctx, r.col, &list.Cursor{}, lo, skip, &o.meta) {
		if err != nil && !codec.IsItem(err) {
			o.err = err
		}
	}
	if o.err == nil {
		r.heard()
	}
	return o
}

// give yields one event. It returns false if the caller left the loop.
func (r *run[T]) give(ev Event[T], err error) bool {
	r.listing = r.listing || ev.Type == Restart
	r.left = !r.yield(ev, err)
	return !r.left
}

// advance moves the revision to an event that the caller has handled, so that others
// are delivered again. A server that repeats events, or a bookmark with a lower
// revision, does not move it back.
func (r *run[T]) advance(ev Event[T]) kube.Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Revision != "" && (ev.Type == Synced || !r.revision.Newer(ev.Revision)) {
		r.revision = ev.Revision
	}
	if ev.Type == Synced {
		r.state.cause, r.listing = nil, false // the list is complete
	}
	return r.revision
}

// report reports the end of a request, and returns false if the caller left.
func (r *run[T]) report(next state, o outcome) bool {
	watch := r.state.op == OpWatch || r.state.op == OpStream
	trace := &r.protocol.opts.Trace
	if next.noShard && r.state.doubt != nil && next.doubt == nil && trace.Unsharded != nil {
		trace.Unsharded(r.state.doubt)
	}
	if r.state.op == OpProbe && errors.Is(next.cause, ErrAhead) && trace.Ahead != nil {
		trace.Ahead(next.cause)
	}
	if next.unusable != nil {
		o.err = next.unusable
	}
	if o.err == nil && !watch {
		return true // a page or a probe that succeeded
	}
	if watch && o.opened {
		r.lost = time.Now()
	}
	if next.noStream && !r.state.noStream && trace.Fallback != nil {
		trace.Fallback(o.err)
	}
	i := &Interruption{
		Op: r.state.op, What: r.col.String(), From: r.state.from, Revision: r.Revision(),
		Err: o.err, Lived: o.lived, Events: o.events, Attempt: next.failures, Next: next.op, Wait: next.wait,
	}
	if trace.Interrupted != nil {
		trace.Interrupted(*i)
	}
	// A request that is followed by a pause is reported, and so is every error, except
	// one that begins a list (it is the Cause of RESTART) or continues one, and one
	// that Fallback or Unsharded reports.
	routine := next.wait == 0 && (o.err == nil || errors.Is(o.err, kube.ErrGone)) ||
		next.noStream && !r.state.noStream || next.wait == 0 && next.noShard && !r.state.noShard
	if routine && next.op != OpNone {
		return true
	}
	return r.give(Event[T]{}, i)
}

func (r *run[T]) connected() {
	f := r.protocol.opts.Trace.Connected
	if f == nil {
		return
	}
	var gap time.Duration
	if !r.lost.IsZero() {
		gap = time.Since(r.lost)
	}
	f(r.state.op, r.state.from, gap)
}

func (w *Watcher[T]) heard() { w.contact.Store(time.Now().UnixNano()) }
