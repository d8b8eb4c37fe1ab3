package watch

import (
	"errors"
	"fmt"
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
	op   Op            // the request to make next; OpNone = over
	wait time.Duration // before it
	err  error         // OpNone: why
	poor error         // of the step that led here: an answer that was read, and is of no use

	from  kube.Revision // OpWatch, OpProbe: where we stand
	seen  kube.Revision // OpProbe: where the server was before; empty = at from
	cur   list.Cursor   // OpList: where in the list
	cause error         // OpList, OpStream: why we list again; nil at first

	failures int  // in a row
	away     bool // the last one was not an answer of the server
	relists  int  // in a row, with no watch in between that was worth it
	bad      int  // streams in a row that ended in bytes we cannot read, or in 5xx
	unended  int  // initial streams in a row that broke off before their mark
	noStream bool // streaming does not work here
	settled  bool // something was synced or delivered
	unpaged  bool // the snapshot expired in mid-list: do not page the next list
}

// outcome is what a request came to.
type outcome struct {
	err      error          // nil = the page was read, the watch ended in good order
	opened   bool           // the server said 200
	synced   bool           // OpStream: the mark came
	revision kube.Revision  // OpStream, OpWatch: the last that the consumer took
	events   int            // delivered
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

// enoughBad is how often the same bytes may be asked for that cannot be read.
const enoughBad = 3

// protocol is what stays the same: the settings and the dice.
type protocol struct {
	opts Options // with defaults
	rnd  func() float64
}

// start returns the first state.
func (p protocol) start() state {
	switch {
	case p.opts.Revision != "" && p.opts.Seen != "" && !p.opts.Revision.Newer(p.opts.Seen):
		return state{op: OpProbe, from: p.opts.Revision, seen: p.opts.Seen}
	case p.opts.Revision != "":
		return state{op: OpWatch, from: p.opts.Revision}
	}
	return p.restart(state{}, nil)
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

// step is the protocol.
func (p protocol) step(s state, o outcome) state {
	s.wait, s.poor = 0, nil
	switch {
	case s.op == OpStream && o.synced:
		// The mark made a watch of it.
		s.op, s.from, s.unended = OpWatch, o.revision, 0
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
		more := s.cur.Page(o.meta)
		if !more && s.cur.Revision() == "" {
			s = p.pause(p.restart(s, errNoRevision), nil)
			s.poor = errNoRevision
			return s
		}
		if s.cur.Revision() != "" { // else the last page is a failure, and may be one of many
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
	giveUp := refused || errors.Is(o.err, errNoMark) || s.unended >= enoughBad
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
	if o.events > 0 || moved || o.opened && o.lived >= livedLongEnough {
		s.failures, s.bad, s.relists = 0, 0, 0
	}
	if o.events > 0 || moved {
		s.settled, s.unpaged = true, false
	}

	var st *kube.Status
	switch {
	case o.err == nil && s.failures == 0 && (o.events > 0 || o.lived >= livedLongEnough):
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
		if s.bad++; s.bad >= enoughBad {
			s.bad = 0
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
		if s.seen == "" || errors.Is(o.err, kube.ErrForbidden) {
			s.op, s.seen = OpWatch, "" // the watch will find out
		}
		return p.pause(s, o.err)
	}
	at, now := s.from, kube.Revision(o.meta.ResourceVersion)
	if s.seen.Newer(at) {
		at = s.seen
	}
	s.op, s.seen = OpWatch, ""
	if at.Newer(now) {
		return p.restart(s, fmt.Errorf("%w (%s, the server is at %s)", ErrAhead, at, now))
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
	for range s.failures + max(0, s.relists-1) {
		if d *= 2; d >= p.opts.BackoffMax {
			d = p.opts.BackoffMax
			break
		}
	}
	s.failures++
	s.wait = d + time.Duration(p.rnd()*float64(d))
	if told && st.RetryAfter > s.wait {
		// Jitter here too: all clients of a server were told the same.
		s.wait = min(st.RetryAfter, maxRetryAfter) + time.Duration(p.rnd()*float64(p.opts.Backoff))
	}
	return s
}

func secondsOf(n int) time.Duration { return time.Duration(max(0, min(n, 1<<20))) * time.Second }
