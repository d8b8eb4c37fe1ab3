package lease

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/listwatch/listwatch/internal/clip"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// candidate reads the Lease periodically and takes it when that is safe: if the last holder
// released it, or if it has not changed for its duration by our own clock, because the last
// holder has then stopped.
//
// A Lease that does not exist may have been deleted under a leader that has not noticed.
// A candidate that finds none creates one without a holder, and the same rule applies to
// it, unless Options.TakeMissing is set.
type candidate struct {
	e    *Elector
	wire *wire
	*past

	since time.Time // when this candidate first saw seen; an earlier one may have missed changes
	said  string    // last log line about the holder

	// The last attempt to take the Lease, whose result may be unknown.
	claim claim
	base  object // the object that it replaces
}

// past is what an Elector knows of its Lease, also of the time before Run was called again.
type past struct {
	met  bool // it has seen the Lease
	seen object
	most int // highest number of transitions seen

	// Until then, the leader of a history that the server lost, when it was restored to an earlier
	// state, may not have noticed. Neither another restore nor a deletion makes that earlier.
	doubted time.Time
}

// run returns when this replica holds the Lease, ctx is done, or no retry can succeed.
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
		if wait.For(ctx, c.pause(err)) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// try reads the Lease once and takes it if that is safe. It returns neither an error nor a
// hold while another replica holds the Lease.
func (c *candidate) try(ctx context.Context) (*hold, error) {
	o, err := c.wire.get(ctx)
	missing := absent(err, c.wire.key)
	if missing {
		o, err = c.wire.create(ctx, c.vacant(), c.e.options.Labels)
		if errors.Is(err, kube.ErrExists) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.observe(o)
	if !c.claimed() {
		if c.base.uid != o.uid || c.base.revision != o.revision { // else the last attempt may still succeed
			c.base, c.claim = o, claim{}
		}
		if free := c.untilFree(); free > 0 {
			c.e.succeeded()
			c.say(missing, free)
			return nil, nil
		}
		if c.claim == (claim{}) {
			c.claim = claim{c.e.options.Identity, stamp(c.e.clock()), after(c.most)}
		}
	}
	h := c.hold()
	sent, wall := c.e.now()
	taken, err := c.wire.update(ctx, o, h.next(), c.e.options.Labels)
	switch {
	case outrun(err, c.wire.key):
		c.e.succeeded()
		return nil, nil
	case err != nil:
		return nil, err
	case time.Since(sent) >= c.e.options.RenewDeadline:
		return nil, errors.New("the answer came too late to lead: trying again")
	}
	h.object, h.sent, h.wall = taken, sent, wall
	c.e.succeeded()
	c.e.observe(taken)
	return h, nil
}

// vacant returns the record of a Lease that this replica creates: without a holder, either
// to be waited for or to be taken at once. The leader of the one that was deleted may have
// a longer Duration.
func (c *candidate) vacant() record {
	r := record{Seconds: max(c.e.seconds(), c.seen.record.Seconds), Transitions: c.most}
	if c.e.options.TakeMissing && !c.e.met {
		now := stamp(c.e.clock())
		r.Seconds, r.Acquired, r.Renewed = 1, now, now // like a released one
	}
	return r
}

// say logs the holder that this replica waits for, and until when if nothing changes,
// unless that was the last line. missing = this replica has created the Lease itself.
func (c *candidate) say(missing bool, free time.Duration) {
	until := slog.Time("until", time.Now().Add(free))
	lease, holder := slog.String("lease", c.e.key.String()), slog.String("holder", clip.Text(c.seen.record.Holder, 253))
	key := c.seen.uid + " " + c.seen.record.Holder
	if key == c.said {
		return
	}
	c.said = key
	switch {
	case missing:
		c.e.log.Info("the lease does not exist: waiting until a leader that was cut off must have stopped", lease, until)
	case c.seen.record.Holder == "":
		c.e.log.Info("the lease has no holder: waiting until a leader that was cut off must have stopped", lease, until)
	default:
		c.e.log.Info("another replica leads: waiting", lease, holder, until)
	}
}

// claimed reports whether an earlier attempt has succeeded although its response was lost.
func (c *candidate) claimed() bool {
	return c.claim != claim{} && c.seen.uid == c.base.uid && c.claim.is(c.seen.record)
}

// hold returns the hold of the Lease after a successful attempt.
func (c *candidate) hold() *hold {
	sent, wall := c.e.now()
	return &hold{e: c.e, wire: c.wire, claim: c.claim, object: c.seen, sent: sent, wall: wall}
}

func (c *candidate) observe(o object) {
	if c.since.IsZero() || o.mark != c.seen.mark {
		c.since = time.Now()
	}
	c.e.observe(o)
}

// observe stores the Lease as read or written.
func (e *Elector) observe(o object) {
	if e.seen.revision.Newer(o.revision) {
		until := time.Now().Add(max(e.options.Duration, seconds(e.seen.record.Seconds)))
		if until.After(e.doubted) {
			e.doubted = until
		}
	}
	e.met, e.seen, e.most = true, o, max(e.most, o.record.Transitions)
	e.see(o.record.Holder)
}

// untilFree returns how long the Lease may still have a leader. A duration shorter than our
// own is not used: somebody may have edited it.
func (c *candidate) untilFree() time.Duration {
	doubted := time.Until(c.doubted)
	if c.seen.record.released() {
		return doubted
	}
	return max(doubted, max(c.e.options.Duration, seconds(c.seen.record.Seconds))-time.Since(c.since))
}

// seconds returns n seconds: 0 if n is negative, at most the longest Duration.
func seconds(n int) time.Duration {
	return time.Duration(min(max(int64(n), 0), math.MaxInt64/int64(time.Second))) * time.Second
}

// pause returns how long to wait after a try without a hold.
func (c *candidate) pause(err error) time.Duration {
	retry := c.e.options.RetryPeriod
	if err == nil {
		pause := time.Duration((lookAfter + c.e.dice()*lookJitter) * float64(retry))
		if free := c.untilFree(); free > 0 {
			pause = min(pause, free)
		}
		return pause
	}
	pause := retry + time.Duration(c.e.dice()*jitter*float64(retry))
	if st := (*kube.Status)(nil); errors.As(err, &st) {
		pause = max(pause, min(st.RetryAfter, c.e.options.Duration))
	}
	return pause
}

// withdraw releases the Lease if an earlier attempt has succeeded although its response
// was lost.
func (c *candidate) withdraw(ctx context.Context) {
	if c.claim == (claim{}) {
		return
	}
	h := c.hold()
	h.object = c.base
	c.e.release(ctx, h, true)
}
