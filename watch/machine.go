package watch

import (
	"errors"
	"math"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// This file is the protocol, without I/O, clock or goroutine:
//
//	         +----------------------- 410, ... ---------------------+
//	         v                                                      |
//	  list or stream  --SYNCED-->  watch  --end, cut, 429, ...-->  watch
//	                                 ^  |
//	                                 |  +--silence, break, no answer, 504 too large--> probe
//	                                 +------ revision unchanged ------+
//
// state is everything that is kept between two requests. The driver sends one request
// of kind state.op, and step computes the next state from its outcome.

// state is a value; step returns a new one.
type state struct {
	op       Op            // the next request; OpNone = end
	wait     time.Duration // before the request
	err      error         // OpNone: the reason
	unusable error         // of the step that led here: why a response that was read cannot be used
	debt     time.Duration // cost of the requests so far, less the time that has passed

	from  kube.Revision // OpWatch, OpProbe: the revision to resume from; empty in a probe = none
	seen  kube.Revision // OpProbe: the latest known revision of the server; empty = from
	cur   list.Cursor   // OpList: position in the list
	cause error         // OpList, OpStream: why it lists again; nil at first

	failures     int           // consecutive
	away         bool          // the last failure was not a response of the server
	relists      int           // consecutive, without a useful watch in between
	garbled      int           // consecutive watches that ended in undecodable bytes or a 5xx
	unended      int           // consecutive initial streams that ended before their mark
	noStream     bool          // streaming does not work with this server
	noShard      bool          // requests have no Options.Shard
	doubt        error         // noShard: the response to the request with a shard, until one without succeeds
	silence      time.Duration // for which watches have brought nothing, since the last probe
	quiet        time.Duration // the same, but of watches that did not end as asked, and since a probe that found no change
	unprobed     time.Duration // for which watches have lasted since a list or a probe
	probes       int           // consecutive, after watches that broke early
	failedProbes int           // consecutive, without an answer though the server was reached
	shortened    int           // how often probes of quiet watches found a later revision, since watches were heard
	settled      bool          // something was synced or delivered
	unpaged      bool          // the list's snapshot expired between pages: do not page the next list
}

// outcome is the result of a request.
type outcome struct {
	err      error          // nil = the page was read, or the watch ended normally
	opened   bool           // the server responded 200
	synced   kube.Revision  // OpStream: revision of the mark, if it arrived
	revision kube.Revision  // OpStream, OpWatch: last revision that the consumer took
	events   int            // events delivered
	outside  int            // OpList: objects of other shards, which are not delivered
	asked    time.Duration  // OpStream, OpWatch: after which the server was to end it
	frames   int            // events and bookmarks that arrived
	flowed   time.Duration  // since the first of them
	lasted   time.Duration  // since the request was sent; OpProbe: 0
	lived    time.Duration  // since opened
	meta     codec.ListMeta // OpList, OpProbe: of the page
}

// ErrAhead is the Cause of a RESTART when the server's revision is lower than that of the
// watcher: the server's etcd was restored from a backup.
var ErrAhead = errors.New("our resource version is ahead of the server's: the server was restored to an earlier state")

var (
	errNoMark     = errors.New("the server did not end its initial objects with the mark (k8s.io/initial-events-end)")
	errNoRevision = errors.New("the list has no resourceVersion: it cannot be watched")
)

// livedLongEnough is the duration after which the end of a watch is routine.
const livedLongEnough = 5 * time.Second

// minHeld is the duration after which the end of a watch is routine if Timeout is so
// short that the server ended the watch as requested.
const minHeld = 500 * time.Millisecond

const (
	// maxGarbled is the number of consecutive watches that may end in undecodable bytes
	// before the collection is listed again.
	maxGarbled = 3
	// maxUnended is the number of consecutive initial streams that may end before their
	// mark before lists are used instead.
	maxUnended = 3
)

// Responses of a server cannot cause requests without limit: each request has a cost,
// and an immediate request is delayed while the debt is above maxDebt.
const (
	requestCost = time.Second
	pageCost    = 5 * time.Millisecond // of a full page, which takes longer than that to decode
	maxDebt     = 30 * time.Second
)

var errHurried = errors.New("the server's responses cause requests without a pause")

// protocol is the constant part: the options and the source of randomness.
type protocol struct {
	opts Options // with defaults
	rnd  func() float64
}

// start returns the first state of a call of Events. m is the memory of earlier calls.
func (p protocol) start(m memory) state {
	s := state{noStream: m.noStream, noShard: m.noShard, debt: m.debt, wait: max(0, m.debt-maxDebt)}
	switch {
	case m.listing:
		return p.restart(s, m.cause)
	case p.opts.Seen != "" && !m.probed && !p.opts.Revision.Newer(p.opts.Seen):
		s.op, s.from, s.seen = OpProbe, p.opts.Revision, p.opts.Seen
		return s
	case p.opts.Revision != "":
		s.op, s.from = OpWatch, p.opts.Revision
		return s
	}
	return p.restart(s, nil)
}

// restart begins to list the collection again, by a stream if possible.
func (p protocol) restart(s state, cause error) state {
	s.cause, s.from, s.unprobed = cause, "", 0
	s.cur = list.Cursor{Unpaged: s.unpaged}
	s.op = OpList
	if p.opts.Initial == Stream || p.opts.Initial == Auto && !s.noStream {
		s.op = OpStream
	}
	return s
}

// step returns the state after o. Every state that it returns either makes progress at
// a limited rate, or has a pause.
func (p protocol) step(s state, o outcome) state {
	s.debt = max(0, s.debt-o.lasted-s.wait) + p.cost(s, o)
	if s.op == OpWatch {
		s.silence, s.quiet = plus(s.silence, s.wait), plus(s.quiet, s.wait)
	}
	s.wait, s.unusable = 0, nil
	s = p.next(s, o)
	if s.debt > maxDebt && s.wait == 0 && s.op != OpNone {
		s = p.pause(s, nil)
		if o.err == nil && s.unusable == nil {
			s.unusable = errHurried
		}
	}
	return s
}

// cost returns the cost of a request with outcome o: a page that is not the last of its
// list costs less the more objects it contains.
func (p protocol) cost(s state, o outcome) time.Duration {
	switch {
	case s.op != OpList || o.err != nil || o.meta.Continue == "":
		return requestCost
	case 0 < p.opts.Limit && p.opts.Limit <= o.events+o.outside:
		return pageCost
	}
	return max(pageCost, requestCost/time.Duration(1+o.events+o.outside))
}

// next is step without the limit of the rate.
func (p protocol) next(s state, o outcome) state {
	if s.op != OpProbe && !p.opts.Shard.All() {
		var again bool
		if s, again = sharded(s, o); again {
			return s
		}
	}
	switch {
	case s.op == OpStream && o.synced != "":
		// With the mark the stream has become a watch.
		s.op, s.from = OpWatch, o.synced
		s.failures, s.unended, s.settled = 0, 0, true
		return p.watched(s, o)
	case s.op == OpStream:
		return p.streamed(s, o)
	case s.op == OpList:
		return p.listed(s, o)
	case s.op == OpProbe:
		return p.probed(s, o)
	default:
		return p.watched(s, o)
	}
}

// listed handles the end of a request for a page.
func (p protocol) listed(s state, o outcome) state {
	if o.err == nil {
		more, err := s.cur.Page(o.meta, o.events+o.outside)
		if err == nil && !more && s.cur.Revision() == "" {
			err = errNoRevision
		}
		if err != nil {
			cause := err
			if errors.Is(s.cause, ErrAhead) { // until something is listed, the next call must learn that
				cause = s.cause
			}
			s = p.pause(p.restart(s, cause), nil)
			s.unusable = err
			return s
		}
		if s.cur.Revision() != "" && (o.events > 0 || !more) { // otherwise failures keep counting
			s.failures = 0
		}
		if !more {
			s.op, s.from, s.cause, s.settled = OpWatch, s.cur.Revision(), nil, true
			s.unpaged = s.cur.Inconsistent // in case the watch finds that its revision has expired too
		}
		return s
	}
	if resumed, restarted := s.cur.Expired(o.err); resumed || restarted {
		s.unpaged = s.unpaged || restarted
		if restarted {
			return p.pause(s, nil)
		}
		return s
	}
	switch {
	case errors.Is(o.err, kube.ErrGone):
		s.cur = list.Cursor{Unpaged: true}
	case errors.Is(o.err, kube.ErrInvalid) && !s.cur.First():
		s.cur = list.Cursor{} // the server does not know its own token: it is another server
	case errors.Is(o.err, kube.ErrTooLargeRevision) && !s.cur.First():
		s = p.pause(s, o.err) // a replica that lags, or a server that was restored
		s.op, s.seen = OpProbe, s.cur.Revision()
		return s
	case errors.Is(o.err, kube.ErrInvalid) && !s.settled:
		return stop(s, o.err) // our request is invalid; later a proxy may be the cause
	}
	// Everything else is temporary, 403 and 404 included: the same page again, after a
	// pause.
	return p.pause(s, o.err)
}

// streamed handles an initial stream that ended before its mark.
func (p protocol) streamed(s state, o outcome) state {
	if o.opened || o.heldBack() {
		s.unended++
	}
	refused := errors.Is(o.err, kube.ErrInvalid)
	giveUp := refused || errors.Is(o.err, errNoMark) || s.unended >= maxUnended || o.heldBack() && o.lasted >= p.opts.MarkerTimeout
	if giveUp && p.opts.Initial == Auto {
		s.noStream = true
		s = p.restart(s, s.cause)
		if !refused && !errors.Is(o.err, errNoMark) {
			s = p.pause(s, o.err)
		}
		return s
	}
	if refused && !s.settled {
		return stop(s, o.err)
	}
	return p.pause(s, o.err)
}

// watched handles the end, or the failed start, of a watch.
func (p protocol) watched(s state, o outcome) state {
	moved := o.revision != "" && o.revision != s.from
	if moved {
		s.from = o.revision
	}
	held := o.opened && (o.lasted >= livedLongEnough || o.err == nil && o.lasted >= p.asked(s).Timeout/2 && o.lasted >= minHeld)
	s = p.listened(s, o)
	doubtful := (o.opened || o.heldBack()) && s.silence >= p.opts.Idle || o.opened && s.failedProbes > 0 || o.broke() && s.unprobed >= p.probeAfterBreaks(s)
	if moved || held {
		s.failures, s.garbled, s.relists = 0, 0, 0
	}
	if moved {
		s.settled, s.unpaged = true, false
	}

	var st *kube.Status
	switch {
	case o.err == nil && s.failures == 0 && (moved || held):
		return probing(s, doubtful) // routine: at once
	case errors.Is(o.err, kube.ErrGone), errors.As(o.err, &st) && st.Reason == "StorageReadError":
		s.relists++
		again := p.restart(s, o.err)
		if s.relists > 1 { // 410 right after a list: the history is very short
			return p.pause(again, nil)
		}
		return again
	case errors.Is(o.err, codec.ErrTooLarge):
		return p.relist(s, o.err)
	case errors.Is(o.err, kube.ErrInvalid):
		if !s.settled {
			return stop(s, o.err) // the caller's revision
		}
		return p.relist(s, o.err)
	case errors.Is(o.err, client.ErrIdle) && o.opened:
		return probing(s, true)
	case errors.Is(o.err, kube.ErrTooLargeRevision):
		return probing(p.pause(s, o.err), true)
	case o.opened && garbled(o.err):
		// Undecodable bytes, or an ERROR event: a resumed watch may receive the same
		// again.
		if s.garbled++; s.garbled >= maxGarbled {
			s.garbled = 0
			return p.relist(s, o.err)
		}
	}
	// Everything else is temporary. A 404 too: the resource may return, or the API
	// server has just started and does not know it yet. If the resource was created
	// again, the watch fails because its revision has expired.
	return probing(p.pause(s, o.err), doubtful || o.unreached())
}

// relist lists again after a pause, which grows with each list that no useful watch follows.
func (p protocol) relist(s state, cause error) state {
	s.relists++
	return p.pause(p.restart(s, cause), nil)
}

// garbled reports whether the connection works but its content is wrong.
func garbled(err error) bool {
	var syntax *codec.SyntaxError
	var status *kube.Status
	return errors.Is(err, errBadEvent) || errors.As(err, &syntax) ||
		errors.As(err, &status) && !errors.Is(err, kube.ErrThrottled)
}

func stop(s state, err error) state {
	s.op, s.err = OpNone, err
	return s
}

// maxRetryAfter limits the pause that a server may request.
const maxRetryAfter = 2 * time.Minute

// pause counts a failure and sets the time to wait: the backoff, or longer if the
// server requests it. If an unreachable server responds with Retry-After, the failure
// count is reset.
func (p protocol) pause(s state, err error) state {
	var st *kube.Status
	answered := errors.As(err, &st)
	asked := answered && st.RetryAfter > 0
	if asked && s.away {
		s.failures = 0
	}
	s.away = err != nil && !answered
	d := p.opts.Backoff
	for range min(s.failures+max(0, s.relists-1), maxDoublings) {
		d = min(plus(d, d), p.opts.BackoffMax)
	}
	s.failures++
	s.wait = plus(d, part(d, p.rnd()))
	if asked && st.RetryAfter > s.wait {
		// With jitter, because all clients of a server get the same Retry-After.
		s.wait = min(st.RetryAfter, maxRetryAfter) + part(min(p.opts.Backoff, maxRetryAfter), p.rnd())
	}
	return s
}

// maxDoublings of the shortest Backoff exceed any BackoffMax.
const maxDoublings = 63

// plus returns a+b for non-negative a and b, or the longest duration.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// part returns d times share, which is at least 0 and less than 1.
func part(d time.Duration, share float64) time.Duration {
	if f := share * float64(d); f < math.MaxInt64 {
		return time.Duration(f)
	}
	return math.MaxInt64
}

func secondsOf(n int) time.Duration { return time.Duration(max(0, min(n, 1<<20))) * time.Second }
