package watch

import "time"

// burstGap is the longest pause between two initial objects of one burst.
const burstGap = 2 * time.Second

// markDeadline gives up on a stream whose initial objects are not followed by
// their mark. The time allowed begins anew with each initial object, as long as
// they keep coming: after a pause, an ADDED may as well be news, from a server
// that ignores sendInitialEvents. It does not run while the caller is busy.
type markDeadline struct {
	timer   *time.Timer
	allowed time.Duration
	left    time.Duration
	since   time.Time // when the timer was last set going
}

func newMarkDeadline(allowed time.Duration, expired func()) *markDeadline {
	return &markDeadline{timer: time.AfterFunc(allowed, expired), allowed: allowed, left: allowed, since: time.Now()}
}

// pause stops the clock: an event of type typ has come.
func (d *markDeadline) pause(typ Type) {
	d.timer.Stop()
	waited := time.Since(d.since)
	if typ == Added && waited < burstGap {
		d.left = d.allowed
		return
	}
	d.left -= waited
}

// resume sets it going again: the event was dealt with.
func (d *markDeadline) resume() {
	d.since = time.Now()
	d.timer.Reset(max(d.left, 0))
}

func (d *markDeadline) stop() { d.timer.Stop() }
