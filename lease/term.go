package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
)

// term is one leadership: it lasts until RenewDeadline after the sending of the last
// successful renewal.
type term struct {
	e      *Elector
	hold   *hold // used by keep, and after its return by Run
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu      sync.Mutex
	sent    time.Time // copy of hold.sent
	wall    time.Time // copy of hold.wall
	failure error     // of the last renewal; nil = it succeeded
	over    error     // why the term is over; nil = it lasts
	gone    bool      // another replica is known to hold the Lease
	ended   bool      // the work has ended
}

// newTerm returns a term that calls cancel at its end.
func newTerm(e *Elector, h *hold, cancel context.CancelCauseFunc) *term {
	t := &term{e: e, hold: h, cancel: cancel, sent: h.sent, wall: h.wall}
	t.mu.Lock() // until t.timer is set
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(time.Until(h.sent.Add(e.options.RenewDeadline)), t.expire)
	return t
}

// expire ends the term if its time has passed.
func (t *term) expire() {
	deadline := t.e.options.RenewDeadline
	t.mu.Lock()
	left, failure := time.Until(t.sent.Add(deadline)), t.failure
	if left > 0 {
		t.timer.Reset(left)
	}
	t.mu.Unlock()
	switch {
	case left > 0:
	case failure == nil:
		t.lose(fmt.Errorf("%w: not renewed for %v", ErrLost, deadline), false)
	default:
		t.lose(fmt.Errorf("%w: not renewed for %v: %w", ErrLost, deadline, failure), false)
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

// keep renews the Lease until ctx is done. It continues after the end of the term: as long
// as the work runs no other replica should lead, and renewals prevent that if none has
// taken the Lease yet.
func (t *term) keep(ctx context.Context) {
	for last := t.hold.sent; wait.For(ctx, time.Until(last.Add(t.e.options.RetryPeriod))) == nil; {
		last = time.Now()
		err := t.hold.renew(ctx)
		switch {
		case err == nil:
			t.mu.Lock()
			t.sent, t.wall, t.failure = t.hold.sent, t.hold.wall, nil
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
			t.failure = err
			t.mu.Unlock()
			t.e.failed(err, true)
		}
	}
}

// valid reports whether the term lasts. The monotonic clock stops while a machine is
// suspended, so the wall clock counts too: if it was set back it has no effect; if it was
// set forward, valid returns false until the next renewal.
func (t *term) valid() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, wall := t.e.now()
	return t.over == nil && max(time.Since(t.sent), wall.Sub(t.wall)) < t.e.options.RenewDeadline
}

// check fails if another replica may lead.
func (t *term) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := time.Since(t.sent); t.over != nil && (t.gone || d >= t.e.options.Duration) {
		return fmt.Errorf("the work still runs, although another replica may lead: %w", t.over)
	}
	return nil
}

// end ends the term after the work. It returns ErrLost if the term was over before.
func (t *term) end() (lost error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
	t.ended = true
	return t.over
}

// ours reports whether this replica may still hold the Lease.
func (t *term) ours() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.gone
}
