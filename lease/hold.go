package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// claim identifies our own records: not by the holder alone, because another process may
// use the same identity.
type claim struct {
	holder      string
	acquired    string
	transitions int
}

func (c claim) is(r record) bool {
	return r.Holder == c.holder && r.Transitions == c.transitions && sameTime(r.Acquired, c.acquired)
}

// sameTime compares two times in any RFC 3339 form.
func sameTime(a, b string) bool {
	ta, errA := time.Parse(time.RFC3339Nano, a)
	tb, errB := time.Parse(time.RFC3339Nano, b)
	return errA == nil && errB == nil && ta.Equal(tb)
}

// hold is a Lease that this replica holds. It is for one goroutine at a time.
type hold struct {
	e       *Elector
	wire    *wire
	claim   claim
	stamped time.Time // time of the last record, by our clock

	object object    // as last read or written
	sent   time.Time // when the last successful write was sent
	wall   time.Time // the same by the wall clock
}

// errGone means that this replica certainly does not hold the Lease any more.
var errGone = errors.New("it is gone")

// next returns the record of a renewal. Other replicas wait for any change, so its time
// must differ from the last one, whatever our clock does.
func (h *hold) next() record {
	now := h.e.clock().Truncate(time.Microsecond)
	if !now.After(h.stamped) {
		now = h.stamped.Add(time.Microsecond)
	}
	h.stamped = now
	return record{Holder: h.claim.holder, Seconds: h.e.seconds(), Transitions: h.claim.transitions,
		Acquired: h.claim.acquired, Renewed: stamp(now)}
}

// renew renews the Lease: one request, unless somebody changed the Lease and kept the
// holder.
func (h *hold) renew(ctx context.Context) error { return h.write(ctx, h.next()) }

// release releases the Lease, so that others need not wait.
func (h *hold) release(ctx context.Context) error {
	r := h.next()
	r.Holder, r.Seconds, r.Acquired = "", 1, r.Renewed
	return h.write(ctx, r)
}

func (h *hold) write(ctx context.Context, r record) error {
	var err error
	for range 6 {
		sent, wall := h.e.now() // before the request: other replicas may see the record from then on
		var o object
		if o, err = h.wire.update(ctx, h.object, r, nil); err == nil {
			h.object, h.sent, h.wall = o, sent, wall
			h.e.observe(o)
			return nil
		}
		if !outrun(err, h.wire.key) {
			return err
		}
		// Possibly by our own write, if its response was lost.
		if err := h.look(ctx); err != nil {
			return err
		}
	}
	return err
}

// look reads the Lease and fails with errGone if this replica does not hold it.
func (h *hold) look(ctx context.Context) error {
	o, err := h.wire.get(ctx)
	if absent(err, h.wire.key) {
		h.e.see("")
		return fmt.Errorf("%w: it was deleted", errGone)
	}
	if err != nil {
		return err
	}
	h.e.observe(o)
	switch {
	case o.uid != h.object.uid:
		return fmt.Errorf("%w: it was deleted and created again", errGone)
	case !h.claim.is(o.record):
		return fmt.Errorf("%w: its holder is now %q", errGone, o.record.Holder)
	}
	h.object = o
	return nil
}

// after returns transitions plus one, within the range of the API.
func after(transitions int) int { return min(max(transitions, 0)+1, math.MaxInt32) }
