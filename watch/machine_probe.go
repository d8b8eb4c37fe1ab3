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

// This file is about silence. The server's revision is probed when nothing has arrived for
// Options.Idle, when a watch broke, and when the server could not be reached: it may have been
// restored, and then its watches are empty until it has caught up. Or a proxy holds responses
// back until they end, and cuts them before: then watches are asked to end earlier and earlier,
// so that the server ends them, and with that all has arrived. What ended as asked was therefore
// not held back.

// ErrMute is the Cause of a RESTART when the server has later revisions and nothing arrives on
// watches, whatever time they are asked to last.
var ErrMute = errors.New("nothing arrives on watches, though the server has later revisions: a proxy on the way may hold responses back, or end them")

// maxShorter is how often the time of watches is made shorter before the collection is listed.
const maxShorter = 2

// flows is for how long what arrives on a watch is spread, if it is not held back until the end:
// a server sends a bookmark two seconds before.
const flows = time.Second

// unproven is for how long watches may break before the server's revision is probed.
const unproven = 30 * time.Second

// maxUnsure is how many probes may go without an answer before a watch is tried.
const maxUnsure = 5

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
	if s.mute > 0 {
		o.Timeout = min(o.Timeout, max(shortest, o.Idle>>(2*min(s.mute, maxShorter))))
	}
	if s.unsure > 0 {
		o.Timeout = min(o.Timeout, unproven)
	}
	return o
}

// patience returns how long watches may be quiet. Lists because of that become rare.
func (p protocol) patience(s state) time.Duration {
	d := p.opts.Idle
	for range min(max(0, s.mute-maxShorter), 2) {
		d = plus(d, p.opts.Idle)
	}
	return d
}

// proven returns for how long a server is not probed again because watches break. Where a proxy
// cuts them that becomes rare.
func (p protocol) proven(s state) time.Duration {
	return min(p.opts.Idle, unproven<<min(s.proofs, 8))
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
		s.unproven = plus(s.unproven, o.lasted)
	}
	if o.opened && (!o.broke() || o.lasted >= p.opts.Idle) {
		s.proofs = 0
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
		s.mute = min(s.mute, maxShorter)
	}
	if o.flowed >= flows {
		s.mute = 0
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
			s.unproven, s.unsure, s.proofs = 0, 0, s.proofs+1
		case !o.unconnected():
			s.unsure++ // only lists fail, perhaps: watch for a short time between probes
		}
		if s.seen == "" && (!o.unanswered() || s.unsure >= maxUnsure) || errors.Is(o.err, kube.ErrForbidden) || errors.Is(o.err, kube.ErrInvalid) {
			s = p.resume(s) // the next request decides
		}
		return p.pause(s, o.err)
	}
	at, now := s.from, kube.Revision(o.meta.ResourceVersion)
	if at == "" || s.seen.Newer(at) {
		at = s.seen
	}
	mute := s.from != "" && s.quiet >= p.patience(s)
	s.silence, s.unproven, s.unsure, s.proofs = 0, 0, 0, s.proofs+1
	if !now.Newer(at) {
		s.quiet = 0 // nothing has happened
	}
	s = p.resume(s)
	switch {
	case at.Newer(now):
		return p.restart(s, fmt.Errorf("%w (%s, the server is at %s)", ErrAhead, at, now))
	case mute && now.Newer(at):
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
	s.mute, s.quiet = s.mute+1, 0
	if s.mute > maxShorter {
		return p.relist(s, ErrMute)
	}
	return s
}
