package watch

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// This file is the protocol, without I/O, clock or goroutine:
//
//	         +-------------------- 410, 404, ... -------------------+
//	         v                                                      |
//	  list or stream  --SYNCED-->  watch  --end, cut, 429, ...-->  watch
//	                                 ^  |
//	                                 |  +--silence, 504 too large--> probe
//	                                 +------ still where we were ------+
//
// state is what is remembered between two requests. The driver does one request
// of kind state.op, and step makes the next state of what came out.

// state is a value; step returns a new one.
type state struct {
	op       Op            // the request to make next; OpNone = over
	wait     time.Duration // before it
	err      error         // OpNone: why
	unusable error         // of the step that led here: why an answer that was read cannot be used
	debt     time.Duration // what the requests so far cost, less the time that has passed

	from  kube.Revision // OpWatch, OpProbe: where we stand; empty in a probe = nowhere
	seen  kube.Revision // OpProbe: where the server was before; empty = at from
	cur   list.Cursor   // OpList: where in the list
	cause error         // OpList, OpStream: why we list again; nil at first

	failures int   // in a row
	away     bool  // the last one was not an answer of the server
	relists  int   // in a row, with no watch in between that was worth it
	garbled  int   // watches in a row that ended in bytes that cannot be read, or in 5xx
	unended  int   // initial streams in a row that broke off before their mark
	noStream bool  // streaming does not work here
	noShard  bool  // the server is asked without Options.Shard
	doubt    error // noShard: the answer to the request with it, until a request without it succeeds
	settled  bool  // something was synced or delivered
	unpaged  bool  // the snapshot expired in mid-list: do not page the next list
}

// outcome is what a request came to.
type outcome struct {
	err      error          // nil = the page was read, the watch ended in good order
	opened   bool           // the server said 200
	synced   kube.Revision  // OpStream: of the mark, if it came
	revision kube.Revision  // OpStream, OpWatch: the last that the consumer took
	events   int            // delivered
	outside  int            // OpList: objects of other shards, which are not delivered
	lived    time.Duration  // since opened
	meta     codec.ListMeta // OpList, OpProbe: of the page
}

var (
	errNoMark = errors.New("the server did not end its initial objects with the mark (k8s.io/initial-events-end)")

	// ErrAhead is the Cause of a RESTART when the server's revision turns out
	// to be older than ours: its etcd was restored from a backup.
	ErrAhead = errors.New("our resource version is ahead of the server's: it was restored to an earlier state")

	errNoRevision = errors.New("the list has no resourceVersion: it cannot be watched")
)

// livedLongEnough is how long a watch must have lived for its end to be routine.
const livedLongEnough = 5 * time.Second

// minHeld is how long a watch must have lived for its end to be routine where Timeout is
// so short that the server ended it as it was asked to.
const minHeld = 500 * time.Millisecond

const (
	// maxGarbled watches in a row may end in bytes that cannot be read, before the
	// collection is listed again.
	maxGarbled = 3
	// maxUnended initial streams in a row may end before their mark, before lists
	// are used instead.
	maxUnended = 3
)

// What a server says cannot make the machine send requests as fast as it answers:
// each request costs time, and one that is due at once is put off while the debt is
// above maxDebt.
const (
	requestCost = time.Second
	pageCost    = 5 * time.Millisecond // of a page that is full: it takes longer to decode
	maxDebt     = 30 * time.Second
)

var errHurried = errors.New("the server's answers make the client send requests without a pause")

// protocol is what stays the same: the settings and the dice.
type protocol struct {
	opts Options // with defaults
	rnd  func() float64
}

// start returns the first state of a call, which m comes from the call before.
func (p protocol) start(m memory) state {
	s := state{noStream: m.noStream, noShard: m.noShard, debt: m.debt, wait: max(0, m.debt-maxDebt)}
	switch {
	case m.ahead != nil:
		return p.restart(s, m.ahead)
	case p.opts.Seen != "" && !m.probed && !p.opts.Revision.Newer(p.opts.Seen):
		s.op, s.from, s.seen = OpProbe, p.opts.Revision, p.opts.Seen
		return s
	case p.opts.Revision != "":
		s.op, s.from = OpWatch, p.opts.Revision
		return s
	}
	return p.restart(s, nil)
}

// restart tells the collection anew, by the best means we have.
func (p protocol) restart(s state, cause error) state {
	s.cause, s.from = cause, ""
	s.cur = list.Cursor{Unpaged: s.unpaged}
	s.op = OpList
	if p.opts.Initial == Stream || p.opts.Initial == Auto && !s.noStream {
		s.op = OpStream
	}
	return s
}

// step is the protocol. Every state that it returns either makes progress at a
// rate that is limited, or has a pause.
func (p protocol) step(s state, o outcome) state {
	s.debt = max(0, s.debt-o.lived-s.wait) + p.cost(s, o)
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

// cost is what a request costs that came to o: a page that is not the last of its
// list costs less the more objects it brought.
func (p protocol) cost(s state, o outcome) time.Duration {
	switch {
	case s.op != OpList || o.err != nil || o.meta.Continue == "":
		return requestCost
	case 0 < p.opts.Limit && p.opts.Limit <= o.events+o.outside:
		return pageCost
	}
	return max(pageCost, requestCost/time.Duration(1+o.events+o.outside))
}

// next is the protocol, but for its speed.
func (p protocol) next(s state, o outcome) state {
	if s.op != OpProbe && !p.opts.Shard.All() {
		var again bool
		if s, again = sharded(s, o); again {
			return s
		}
	}
	switch {
	case s.op == OpStream && o.synced != "":
		// The mark made a watch of it.
		s.op, s.from, s.unended = OpWatch, o.synced, 0
		s.settled = true
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

// listed: a page was read, or not.
func (p protocol) listed(s state, o outcome) state {
	if o.err == nil {
		more, err := s.cur.Page(o.meta, o.events+o.outside)
		if err == nil && !more && s.cur.Revision() == "" {
			err = errNoRevision
		}
		if err != nil {
			s = p.pause(p.restart(s, err), nil)
			s.unusable = err
			return s
		}
		if s.cur.Revision() != "" && (o.events > 0 || !more) { // otherwise failures keep counting
			s.failures = 0
		}
		if !more {
			s.op, s.from, s.cause, s.settled = OpWatch, s.cur.Revision(), nil, true
			s.unpaged = s.cur.Inconsistent // should the watch find that its revision is gone too
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
		s.cur = list.Cursor{} // the server does not know its own token: another server
	case errors.Is(o.err, kube.ErrInvalid) && !s.settled:
		return stop(s, o.err) // it is our request; later on it is somebody in between
	}
	// Everything else passes, also 403 and 404: the same page again, after a pause.
	return p.pause(s, o.err)
}

// streamed: an initial stream ended before its mark.
func (p protocol) streamed(s state, o outcome) state {
	if o.opened {
		s.unended++
	}
	refused := errors.Is(o.err, kube.ErrInvalid)
	giveUp := refused || errors.Is(o.err, errNoMark) || s.unended >= maxUnended
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

// watched: a watch ended, or did not begin.
func (p protocol) watched(s state, o outcome) state {
	moved := o.revision != "" && o.revision != s.from
	if moved {
		s.from = o.revision
	}
	held := o.opened && (o.lived >= livedLongEnough || o.err == nil && o.lived >= p.opts.Timeout/2 && o.lived >= minHeld)
	if moved || held {
		s.failures, s.garbled, s.relists = 0, 0, 0
	}
	if moved {
		s.settled, s.unpaged = true, false
	}

	var st *kube.Status
	switch {
	case o.err == nil && s.failures == 0 && (moved || held):
		return s // routine: resume at once
	case errors.Is(o.err, kube.ErrGone), errors.As(o.err, &st) && st.Reason == "StorageReadError":
		s.relists++
		again := p.restart(s, o.err)
		if s.relists > 1 { // 410 right after a list: the history is very short
			return p.pause(again, nil)
		}
		return again
	case errors.Is(o.err, codec.ErrTooLarge):
		return p.pause(p.restart(s, o.err), nil)
	case errors.Is(o.err, kube.ErrInvalid):
		if !s.settled {
			return stop(s, o.err) // a revision that was given to us
		}
		return p.pause(p.restart(s, o.err), nil)
	case errors.Is(o.err, client.ErrIdle) && o.opened:
		s.op = OpProbe
		return s
	case errors.Is(o.err, kube.ErrTooLargeRevision):
		s = p.pause(s, o.err)
		s.op = OpProbe
		return s
	case o.opened && garbled(o.err):
		// Bytes that cannot be read, or an ERROR event: resuming may well meet
		// the same again.
		if s.garbled++; s.garbled >= maxGarbled {
			s.garbled = 0
			return p.pause(p.restart(s, o.err), nil)
		}
	}
	// Everything else passes. A 404 too: the resource may come back, or an API
	// server may not know it yet that has just started; and if it was made anew,
	// the watch will be told that its revision is gone.
	return p.pause(s, o.err)
}

// probed: the server told its revision, or not.
func (p protocol) probed(s state, o outcome) state {
	if o.err != nil {
		if s.seen == "" || errors.Is(o.err, kube.ErrForbidden) || errors.Is(o.err, kube.ErrInvalid) {
			s = p.resume(s) // the next request finds out
		}
		return p.pause(s, o.err)
	}
	at, now := s.from, kube.Revision(o.meta.ResourceVersion)
	if at == "" || s.seen.Newer(at) {
		at = s.seen
	}
	s = p.resume(s)
	if at.Newer(now) {
		return p.restart(s, fmt.Errorf("%w (%s, the server is at %s)", ErrAhead, at, now))
	}
	return s
}

// resume goes on after a probe.
func (p protocol) resume(s state) state {
	s.op, s.seen = OpWatch, ""
	if s.from == "" {
		return p.restart(s, nil)
	}
	return s
}

// garbled: the connection is good, what came over it is not.
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

// maxRetryAfter is the longest pause a server may impose.
const maxRetryAfter = 2 * time.Minute

// pause counts a failure and sets the time to wait: the backoff, or longer if
// the server asked for it. Who was away and now says when to come again is back,
// and how long that was counts no more.
func (p protocol) pause(s state, err error) state {
	var st *kube.Status
	answered := errors.As(err, &st)
	told := answered && st.RetryAfter > 0
	if told && s.away {
		s.failures = 0
	}
	s.away = err != nil && !answered
	d := p.opts.Backoff
	for range min(s.failures+max(0, s.relists-1), maxDoublings) {
		d = min(plus(d, d), p.opts.BackoffMax)
	}
	s.failures++
	s.wait = plus(d, part(d, p.rnd()))
	if told && st.RetryAfter > s.wait {
		// Jitter here too: all clients of a server were told the same.
		s.wait = min(st.RetryAfter, maxRetryAfter) + part(min(p.opts.Backoff, maxRetryAfter), p.rnd())
	}
	return s
}

// maxDoublings of the shortest Backoff are longer than any BackoffMax.
const maxDoublings = 63

// plus returns a+b, neither of which is negative, at most the longest duration.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// part returns the part of d that share, at least 0 and less than 1, is of it.
func part(d time.Duration, share float64) time.Duration {
	if f := share * float64(d); f < math.MaxInt64 {
		return time.Duration(f)
	}
	return math.MaxInt64
}

func secondsOf(n int) time.Duration { return time.Duration(max(0, min(n, 1<<20))) * time.Second }
