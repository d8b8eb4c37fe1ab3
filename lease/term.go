package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// term is one leadership: it lasts RenewDeadline from when the last renewal was
// sent, and longer with each renewal.
type term struct {
	e      *Elector
	hold   *hold // of keep, and when that has returned, of Run
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu      sync.Mutex
	sent    time.Time // of hold
	wall    time.Time // of hold
	trouble error     // of the last renewal, if it failed
	over    error     // why it is over, if it is
	gone    bool      // the Lease is known to be another's
	ended   bool      // the work has ended
}

// newTerm returns a term that ends by cancel.
func newTerm(e *Elector, h *hold, cancel context.CancelCauseFunc) *term {
	t := &term{e: e, hold: h, cancel: cancel, sent: h.sent, wall: h.wall}
	t.mu.Lock() // before the timer may find itself missing
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(time.Until(h.sent.Add(e.options.RenewDeadline)), t.expire)
	return t
}

// expire ends the term if its time is up.
func (t *term) expire() {
	deadline := t.e.options.RenewDeadline
	t.mu.Lock()
	left, trouble := time.Until(t.sent.Add(deadline)), t.trouble
	if left > 0 {
		t.timer.Reset(left)
	}
	t.mu.Unlock()
	switch {
	case left > 0:
	case trouble == nil:
		t.lose(fmt.Errorf("%w: not renewed for %v", ErrLost, deadline), false)
	default:
		t.lose(fmt.Errorf("%w: not renewed for %v: %w", ErrLost, deadline, trouble), false)
	}
}

// lose ends the term before the work has ended.
func (t *term) lose(err error, gone bool) {
	t.mu.Lock()
	t.gone = t.gone || gone
	first := t.over == nil && !t.ended
	if first {
		t.over = err
		t.timer.Stop()
	}
	t.mu.Unlock()
	if first {
		t.cancel(fmt.Errorf("lease %s: %w", t.e.key, err))
		t.e.log.Warn("the lease is lost", "lease", t.e.key.String(), "err", err)
	}
}

// keep renews the Lease until ctx is done. It goes on when the term is over: as long
// as the work has not ended, nobody else should lead, and where the Lease has not
// been taken yet, that can be had.
func (t *term) keep(ctx context.Context) {
	for last := t.hold.sent; wait(ctx, time.Until(last.Add(t.e.options.RetryPeriod))); {
		last = time.Now()
		err := t.hold.renew(ctx)
		switch {
		case err == nil:
			t.mu.Lock()
			t.sent, t.wall, t.trouble = t.hold.sent, t.hold.wall, nil
			t.mu.Unlock()
			t.e.succeeded()
			if f := t.e.options.Trace.Renewed; f != nil {
				f(time.Since(last))
			}
		case errors.Is(err, errGone):
			t.lose(fmt.Errorf("%w: %w", ErrLost, err), true)
			return
		case ctx.Err() == nil:
			t.mu.Lock()
			t.trouble = err
			t.mu.Unlock()
			t.e.failed(err, true)
		}
	}
}

// valid reports whether the term lasts. In a suspended machine the monotonic clock
// stands still; hence the clock on the wall counts too. Where that was set back it
// says nothing, and where it was set forward the answer is no until the next renewal.
func (t *term) valid() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, wall := t.e.now()
	return t.over == nil && max(time.Since(t.sent), wall.Sub(t.wall)) < t.e.options.RenewDeadline
}

// check fails when another may lead.
func (t *term) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := time.Since(t.sent); t.over != nil && (t.gone || d >= t.e.options.Duration) {
		return fmt.Errorf("the work goes on, though another may lead: %w", t.over)
	}
	return nil
}

// end ends the term after the work has; it returns ErrLost where it was over before,
// and whether the Lease may still be ours.
func (t *term) end() (lost error, ours bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.ended = true
	return t.over, !t.gone
}
