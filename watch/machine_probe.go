package watch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// This file is about silence, which has two causes.
//
// A server that was restored sends nothing on watches until it has caught up with their
// revision. So its revision is probed when nothing has arrived for Options.Idle, when a watch
// broke, and when the server could not be reached.
//
// A proxy may hold responses back until they end, and cut them before. Then watches are asked to
// end earlier and earlier: when the server ends a watch, all of it arrives. So a watch that ended
// as asked was not held back.

// ErrMute is the Cause of a RESTART when the server has later revisions and nothing arrives on
// watches, not even on those that were asked to be short.
var ErrMute = errors.New("nothing arrives on watches, though the server has later revisions: a proxy on the way may hold responses back, or end them")

// maxShortened is how often the time of watches is made shorter before the collection is listed.
const maxShortened = 2

// flows is for how long what arrives on a watch is spread, if it is not held back until the end:
// a server sends a bookmark two seconds before.
const flows = time.Second

// probeAfter is for how long watches may break before the server's revision is probed.
const probeAfter = 30 * time.Second

// maxFailedProbes is how many probes may go without an answer before a watch is tried.
const maxFailedProbes = 5

// lateness is for how long after its time the end of a watch may be read. A process that was
// stopped reads it later.
const lateness = 5 * time.Second

// shortest is the shortest time that a watch is asked to last: it must show that events flow.
const shortest = 2 * flows

// asked returns the options of the next request: without a shard that the server refused,
// and with a shorter time after quiet watches.
func (p protocol) asked(s state) Options {
	o := p.opts
	if s.noShard {
		o.Shard = kube.Shard{}
	}
	if s.shortened > 0 { // a quarter and a sixteenth of Idle: the query doubles it at random
		o.Timeout = min(o.Timeout, max(shortest, o.Idle>>(2*min(s.shortened, maxShortened))))
	}
	if s.failedProbes > 0 {
		o.Timeout = min(o.Timeout, probeAfter)
	}
	return o
}

// patience returns how long watches may be quiet. Lists because of that become rare.
func (p protocol) patience(s state) time.Duration {
	d := p.opts.Idle
	for range min(max(0, s.shortened-maxShortened), 2) {
		d = plus(d, p.opts.Idle)
	}
	return d
}

// probeAfterBreaks returns for how long a server is not probed again because watches break.
// Where a proxy cuts them, probes become rare.
func (p protocol) probeAfterBreaks(s state) time.Duration {
	return min(p.opts.Idle, probeAfter<<min(s.probes, 8))
}

// unreached reports whether a server may have been restored before it answers again.
func (o outcome) unreached() bool {
	var st *kube.Status
	down := errors.As(o.err, &st) && (st.Code == http.StatusBadGateway || st.Code == http.StatusServiceUnavailable)
	return !o.opened && down || o.unanswered()
}

// unanswered reports whether nothing answered a request.
func (o outcome) unanswered() bool {
	var st *kube.Status
	return !o.opened && o.err != nil && !errors.As(o.err, &st) && !garbled(o.err) && !errors.Is(o.err, codec.ErrTooLarge)
}

// unconnected reports whether a request failed because there was no connection.
func (o outcome) unconnected() bool {
	var op *net.OpError
	return errors.As(o.err, &op) && op.Op == "dial"
}

// heldBack reports whether a watch was not opened, for long: proxies hold headers back, too.
func (o outcome) heldBack() bool {
	var st *kube.Status
	return !o.opened && o.lasted >= livedLongEnough && (errors.Is(o.err, client.ErrIdle) || errors.As(o.err, &st) && st.Code >= 500)
}

// asAsked reports whether a watch ended when it was asked to. A proxy that cuts watches does
// it before.
func (o outcome) asAsked() bool { return o.err == nil && o.asked > 0 && o.lasted >= o.asked }

// broke reports whether a watch ended otherwise than when it was asked to.
func (o outcome) broke() bool {
	return o.opened && (!o.asAsked() || o.lasted > plus(o.asked, lateness))
}

// listened notes what arrived on a watch.
func (p protocol) listened(s state, o outcome) state {
	if o.opened {
		s.unprobed = plus(s.unprobed, o.lasted)
	}
	if o.opened && (o.lasted >= p.opts.Idle || !o.broke() && s.shortened == 0) {
		s.probes = 0
	}
	switch {
	case o.frames > 0:
		s.silence, s.quiet = 0, 0
	case o.asAsked():
		s.silence, s.quiet = plus(s.silence, o.lasted), 0
	case o.opened || o.heldBack():
		s.silence, s.quiet = plus(s.silence, o.lasted), plus(s.quiet, o.lasted)
	}
	if errors.Is(o.err, client.ErrIdle) && o.opened {
		s.silence, s.quiet = max(p.opts.Idle, s.silence), max(p.opts.Idle, s.quiet)
	}
	if o.frames > 0 {
		s.shortened = min(s.shortened, maxShortened)
	}
	if o.flowed >= flows {
		s.shortened = 0
	}
	return s
}

// probed handles the end of a probe.
func (p protocol) probed(s state, o outcome) state {
	if o.err != nil {
		if o.unreached() {
			s.quiet = 0 // it is the server that is silent
		}
		switch {
		case !o.unanswered():
			s.unprobed, s.failedProbes, s.probes = 0, 0, s.probes+1
		case !o.unconnected():
			s.failedProbes++ // only lists fail, perhaps: watch for a short time between probes
		}
		if s.seen == "" && (!o.unanswered() || s.failedProbes >= maxFailedProbes) || errors.Is(o.err, kube.ErrForbidden) || errors.Is(o.err, kube.ErrInvalid) {
			s = p.resume(s) // the next request decides
		}
		return p.pause(s, o.err)
	}
	at, now := s.from, kube.Revision(o.meta.ResourceVersion)
	if at == "" || s.seen.Newer(at) {
		at = s.seen
	}
	heardNothing := s.from != "" && s.quiet >= p.patience(s)
	s.silence, s.unprobed, s.failedProbes, s.probes = 0, 0, 0, s.probes+1
	if !now.Newer(at) {
		s.quiet = 0 // nothing has happened
	}
	s = p.resume(s)
	switch {
	case at.Newer(now):
		return p.restart(s, fmt.Errorf("%w (%s, the server is at %s)", ErrAhead, at, now))
	case heardNothing && now.Newer(at):
		return p.muted(s)
	}
	return s
}

// resume continues after a probe: with the list, if that was between pages.
func (p protocol) resume(s state) state {
	s.op, s.seen = OpWatch, ""
	switch {
	case s.from == "" && s.cur.First():
		return p.restart(s, nil)
	case s.from == "":
		s.op = OpList
	}
	return s
}

// probing returns the state that probes if need be.
func probing(s state, needed bool) state {
	if needed {
		s.op = OpProbe
	}
	return s
}

// muted handles a probe that found later revisions than those of quiet watches.
func (p protocol) muted(s state) state {
	s.shortened, s.quiet = s.shortened+1, 0
	if s.shortened > maxShortened {
		return p.relist(s, ErrMute)
	}
	return s
}
