package watch

import (
	"time"

	"github.com/listwatch/listwatch/kube"
)

// markDeadline ends an initial stream whose mark does not arrive. The time is counted
// from the last event that is certainly an initial object: an ADDED with a lower
// revision than one before it. Any other event may be a change, from a server that
// ignores sendInitialEvents: changes arrive in the order of their revisions. The time
// stops while the caller handles an event.
type markDeadline struct {
	timer   *time.Timer
	allowed time.Duration
	left    time.Duration
	since   time.Time     // when the timer was last started
	newest  kube.Revision // of the events so far
}

func newMarkDeadline(allowed time.Duration, expired func()) *markDeadline {
	return &markDeadline{timer: time.AfterFunc(allowed, expired), allowed: allowed, left: allowed, since: time.Now()}
}

// pause stops the timer when an event of type typ and revision rev arrives.
func (d *markDeadline) pause(typ Type, rev kube.Revision) {
	d.timer.Stop()
	if typ == Added && d.newest.Newer(rev) {
		d.left = d.allowed
		return
	}
	if !d.newest.Newer(rev) {
		d.newest = rev
	}
	d.left -= time.Since(d.since)
}

// resume starts the timer again when the caller has handled the event.
func (d *markDeadline) resume() {
	d.since = time.Now()
	d.timer.Reset(max(d.left, 0))
}

func (d *markDeadline) stop() { d.timer.Stop() }
