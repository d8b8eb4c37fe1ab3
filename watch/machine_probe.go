package watch

import (
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/kube"
)

// This file is about silence. A probe finds out what the server's revision is after a watch
// on which nothing arrived: the server may have been restored, or a proxy holds responses
// back until they end, or ends them at once.

// ErrMute is the error, or the Cause of a RESTART, when the server has later revisions than
// a watch that was silent for as long as it was open.
var ErrMute = errors.New("nothing arrives on the watch, though the server has later revisions: a proxy on the way may hold responses back, or end them")

// maxEmpty is the number of consecutive watches that may end without an event or a bookmark
// before the server's revision is checked.
const maxEmpty = 5

// asked returns the options of the next request: without a shard that the server refused,
// and after a mute watch with a time that ends before the silence is too long.
func (p protocol) asked(s state) Options {
	o := p.opts
	if s.noShard {
		o.Shard = kube.Shard{}
	}
	if s.mute > 0 {
		o.Timeout = min(o.Timeout, o.Idle/4)
	}
	return o
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
	silent := s.silent
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
	s.op, s.seen, s.silent = OpWatch, "", false
	switch {
	case s.from == "" && s.cur.First():
		return p.restart(s, nil)
	case s.from == "":
		s.op = OpList
	}
	return s
}

// muted handles a probe that found later revisions than those of a watch without an event
// or a bookmark. The next watch is short: what a proxy holds back arrives when it ends. If
// that does not help, the collection is listed.
func (p protocol) muted(s state) state {
	s.mute++
	if s.mute > 1 {
		return p.relist(s, ErrMute)
	}
	s.unusable = ErrMute
	return s
}
