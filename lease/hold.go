package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// claim is how we know a record for one of ours: not by the holder alone, for
// another process might call itself the same.
type claim struct {
	holder      string
	acquired    string
	transitions int
}

func (c claim) is(r record) bool {
	return r.Holder == c.holder && r.Transitions == c.transitions && sameTime(r.Acquired, c.acquired)
}

// sameTime compares two times that may be written differently.
func sameTime(a, b string) bool {
	ta, errA := time.Parse(time.RFC3339Nano, a)
	tb, errB := time.Parse(time.RFC3339Nano, b)
	return errA == nil && errB == nil && ta.Equal(tb)
}

// hold is a Lease that is ours. It is for one goroutine at a time.
type hold struct {
	e       *Elector
	wire    *wire
	claim   claim
	stamped time.Time // what was last written, by our clock

	object object    // as we last saw it
	sent   time.Time // when the last write that succeeded was sent
	wall   time.Time // the same by the clock on the wall
}

// errGone means that the Lease is not ours any more, for certain.
var errGone = errors.New("it is gone")

// next returns the record that renews: others see a sign of life in any change, so
// that its time must differ from the last, whatever our clock does.
func (h *hold) next() record {
	now := h.e.clock().Truncate(time.Microsecond)
	if !now.After(h.stamped) {
		now = h.stamped.Add(time.Microsecond)
	}
	h.stamped = now
	return record{Holder: h.claim.holder, Seconds: h.e.seconds(), Transitions: h.claim.transitions,
		Acquired: h.claim.acquired, Renewed: stamp(now)}
}

// renew writes a sign of life: one request, unless somebody has changed the Lease
// and left us the holder.
func (h *hold) renew(ctx context.Context) error { return h.write(ctx, h.next()) }

// release gives the Lease up, so that others need not wait.
func (h *hold) release(ctx context.Context) error {
	r := h.next()
	r.Holder, r.Seconds, r.Acquired = "", 1, r.Renewed
	return h.write(ctx, r)
}

func (h *hold) write(ctx context.Context, r record) error {
	var err error
	for range 6 {
		sent, wall := h.e.now() // before the request: others may see it from then on
		var o object
		if o, err = h.wire.update(ctx, h.object, r, nil); err == nil {
			h.object, h.sent, h.wall = o, sent, wall
			return nil
		}
		if !outrun(err, h.wire.key) {
			return err
		}
		// By whom? By ourselves, if an answer was lost.
		if err := h.look(ctx); err != nil {
			return err
		}
	}
	return err
}

// look reads the Lease and fails with errGone where it is not ours.
func (h *hold) look(ctx context.Context) error {
	o, err := h.wire.get(ctx)
	if absent(err, h.wire.key) {
		h.e.see("")
		return fmt.Errorf("%w: it was deleted", errGone)
	}
	if err != nil {
		return err
	}
	h.e.see(o.record.Holder)
	switch {
	case o.uid != h.object.uid:
		return fmt.Errorf("%w: it was deleted and created again", errGone)
	case !h.claim.is(o.record):
		return fmt.Errorf("%w: its holder is now %q", errGone, o.record.Holder)
	}
	h.object = o
	return nil
}

// after returns how many transitions there are with one more.
func after(transitions int) int { return min(max(transitions, 0)+1, math.MaxInt32) }
