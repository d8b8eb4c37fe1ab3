package lease

import (
	"context"
	"errors"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// candidate looks at the Lease from time to time and takes it when it may. It may
// where the last holder released it, or where nothing about it has changed for its
// duration, by our own clock: then whoever renewed it last has stopped by now.
//
// A Lease that does not exist may have been deleted under a leader that does not
// know. Hence whoever finds none creates one without a holder, and the same rule
// applies to that.
type candidate struct {
	e    *Elector
	wire *wire

	seen  object
	since time.Time // when seen was first seen
	most  int       // transitions seen, of whichever Lease

	// Of the last attempt to take it whose outcome may not be known.
	claim claim
	base  object // what it wanted to replace
}

// run returns when the Lease is ours, ctx is done, or there is no hope.
func (c *candidate) run(ctx context.Context) (*hold, error) {
	for {
		h, err := c.try(ctx)
		if h != nil {
			return h, nil
		}
		if ctx.Err() == nil && err != nil {
			c.e.failed(err, false)
			if errors.Is(err, kube.ErrInvalid) {
				return nil, err
			}
		}
		if !wait(ctx, c.pause(err)) {
			return nil, context.Cause(ctx)
		}
	}
}

// try looks once, and takes the Lease if it may. Without an error and a hold the
// Lease is another's.
func (c *candidate) try(ctx context.Context) (*hold, error) {
	o, err := c.wire.get(ctx)
	if absent(err, c.wire.key) {
		o, err = c.wire.create(ctx, record{Seconds: c.e.seconds(), Transitions: c.most}, c.e.options.Labels)
		if errors.Is(err, kube.ErrExists) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.observe(o)
	if !c.claimed() {
		if c.base.uid != o.uid || c.base.revision != o.revision { // else the last attempt may still arrive
			c.base, c.claim = o, claim{}
		}
		if c.untilFree() > 0 {
			return nil, nil
		}
		if c.claim == (claim{}) {
			c.claim = claim{c.e.options.Identity, stamp(c.e.clock()), after(c.most)}
		}
	}
	h := c.hold()
	sent := time.Now()
	taken, err := c.wire.update(ctx, o, h.next(), c.e.options.Labels)
	switch {
	case outrun(err, c.wire.key):
		return nil, nil
	case err != nil:
		return nil, err
	case time.Since(sent) >= c.e.options.RenewDeadline:
		return nil, errors.New("the answer came too late to lead: trying again")
	}
	h.object, h.sent = taken, sent
	c.e.see(c.claim.holder)
	return h, nil
}

// claimed reports whether an attempt of ours has succeeded without our knowing.
func (c *candidate) claimed() bool {
	return c.claim != claim{} && c.seen.uid == c.base.uid && c.claim.is(c.seen.record)
}

// hold returns what the Lease is to us if the attempt succeeds, or has.
func (c *candidate) hold() *hold {
	return &hold{e: c.e, wire: c.wire, claim: c.claim, object: c.seen, sent: time.Now()}
}

func (c *candidate) observe(o object) {
	if o.mark != c.seen.mark {
		c.since = time.Now()
	}
	c.seen = o
	c.most = max(c.most, o.record.Transitions)
	c.e.see(o.record.Holder)
}

// untilFree returns how long the Lease that was seen may still be somebody's. A
// duration that is shorter than our own is not believed either: somebody may have
// edited it.
func (c *candidate) untilFree() time.Duration {
	if c.seen.record.released() {
		return 0
	}
	d := max(c.e.options.Duration, time.Duration(c.seen.record.Seconds)*time.Second)
	return time.Until(c.since.Add(d))
}

// pause returns how long to wait after try returned err, and no Lease.
func (c *candidate) pause(err error) time.Duration {
	retry := c.e.options.RetryPeriod
	pause := retry + time.Duration(c.e.dice()*jitter*float64(retry))
	if err == nil {
		if free := c.untilFree(); free > 0 {
			pause = min(pause, free)
		}
		return pause
	}
	if st := (*kube.Status)(nil); errors.As(err, &st) {
		pause = max(pause, min(st.RetryAfter, c.e.options.Duration))
	}
	return pause
}

// withdraw releases the Lease if an attempt to take it has succeeded without our
// knowing.
func (c *candidate) withdraw(ctx context.Context) {
	if c.claim == (claim{}) {
		return
	}
	h := c.hold()
	h.object = c.base
	c.e.release(ctx, h, true)
}
