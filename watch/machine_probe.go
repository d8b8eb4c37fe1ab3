package watch

import (
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// This file is about silence. The server's revision is probed when nothing has arrived for
// Options.Idle: the server may have been restored. Or a proxy holds responses back until
// they end, and cuts them before: then watches are asked to end earlier and earlier, so
// that the server ends them, and with that all has arrived. A server whose watches end as
// asked and are empty is heard, too.

// ErrMute is the Cause of a RESTART when the server has later revisions and nothing arrives on
// watches, whatever time they are asked to last.
var ErrMute = errors.New("nothing arrives on watches, though the server has later revisions: a proxy on the way may hold responses back, or end them")

// maxShorter is how often the time of watches is made shorter before the collection is listed.
const maxShorter = 2

// asked returns the options of the next request: without a shard that the server refused,
// and with a shorter time after quiet watches.
func (p protocol) asked(s state) Options {
	o := p.opts
	if s.noShard {
		o.Shard = kube.Shard{}
	}
	if s.mute > 0 {
		o.Timeout = min(o.Timeout, o.Idle>>(2*min(s.mute, maxShorter)))
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

// listened notes what arrived on a watch.
func (p protocol) listened(s state, o outcome) state {
	asAsked := o.err == nil && o.lived > 0 && o.lived >= o.asked-min(time.Second, o.asked/2)
	switch {
	case errors.Is(o.err, client.ErrIdle) && o.opened:
		s.quiet = max(p.opts.Idle, plus(s.quiet, o.lived))
	case o.frames > 0 || asAsked:
		s.quiet = 0
	case o.opened:
		s.quiet = plus(s.quiet, o.lived)
	}
	if o.frames > 0 {
		s.mute = min(s.mute, maxShorter)
	}
	if o.flowed >= livedLongEnough {
		s.mute = 0
	}
	return s
}

// probed handles the end of a probe.
func (p protocol) probed(s state, o outcome) state {
	if o.err != nil {
		if s.seen == "" || errors.Is(o.err, kube.ErrForbidden) || errors.Is(o.err, kube.ErrInvalid) {
			s = p.resume(s) // the next request decides
		}
		return p.pause(s, o.err)
	}
	at, now := s.from, kube.Revision(o.meta.ResourceVersion)
	if at == "" || s.seen.Newer(at) {
		at = s.seen
	}
	silent := s.from != "" && s.quiet >= p.patience(s)
	s = p.resume(s)
	switch {
	case at.Newer(now):
		return p.restart(s, fmt.Errorf("%w (%s, the server is at %s)", ErrAhead, at, now))
	case silent && now.Newer(at):
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
