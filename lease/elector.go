package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// ErrLost means that the leadership ended before lead returned: the Lease was not renewed in time,
// or another replica took it.
var ErrLost = errors.New("the lease is lost")

// Elector is one replica in the election of a leader. Its methods are safe for concurrent
// use.
type Elector struct {
	client  *client.Client
	key     kube.Key
	options Options
	clock   func() time.Time // for the times in the Lease, which no replica computes with
	dice    func() float64

	log  *slog.Logger // fixed while it runs
	past              // used by Run only

	mu       sync.Mutex
	running  bool
	leader   string
	reported string // kind of the last failure that was logged; "" = none, or it has ended
	refusal  error  // of the last request, if the server refused it
	term     *term  // while the work runs
}

// New returns an elector for the Lease named k, which need not exist. It sends no request.
//
// Its requests use connections of their own and no rate limit, so that neither other
// requests of c nor its Config.QPS can cost the leader its Lease. They need the verbs get,
// create and update on leases of coordination.k8s.io.
func New(c *client.Client, k kube.Key, o Options) (*Elector, error) {
	if c == nil {
		return nil, fmt.Errorf("lease %s: the client is nil", k)
	}
	if k.Namespace == "" || k.Name == "" {
		return nil, fmt.Errorf("lease %s: the key must have a namespace and a name", k)
	}
	o, err := o.defaults()
	if err != nil {
		return nil, fmt.Errorf("lease %s: %w", k, err)
	}
	e := &Elector{client: c, key: k, options: o, clock: time.Now, dice: rand.Float64, log: o.Logger}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	return e, nil
}

// SetLogger sets the logger of an elector whose Options have none. A Manager calls it;
// while the elector runs it does nothing.
func (e *Elector) SetLogger(l *slog.Logger) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.options.Logger == nil && !e.running {
		e.log = l
	}
}

// Run waits until this replica is the leader, calls lead once, and returns after lead has
// returned. It renews the Lease as long as lead runs, also after ctx is done, and then
// releases it, which takes RenewDeadline at most. To lead again, call Run again: the Elector
// remembers what it has seen of the Lease.
//
// The context of lead is cancelled when ctx is done or the leadership is lost. If it is lost,
// lead must return within Duration minus RenewDeadline, because another replica may lead after
// that. If lead panics, the Lease is not released but expires.
//
// Run returns the result of lead. If the leadership was lost first, it returns [ErrLost] with the
// reason, joined with the error of lead unless that says only that its context has ended. If this
// replica never led, Run returns the cause of ctx. Run retries when the server cannot be reached;
// see [Options.Trace].
//
// If the Lease does not exist, Run creates it, but takes it only after Duration, or after the
// duration in the Lease that it last saw, if that is longer: the Lease may have been deleted while
// its leader was cut off. See [Options.TakeMissing]. Run never deletes a Lease. A leader loses the
// leadership if its Lease is deleted, or edited to have another holder or none.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context, t Token) error) error {
	if lead == nil {
		return fmt.Errorf("lease %s: the function that leads is nil", e.key)
	}
	if !e.begin() {
		return fmt.Errorf("lease %s: Run was called while it runs", e.key)
	}
	defer e.finish()
	w := newWire(e.client, e.key, e.options.RenewDeadline/2)
	defer w.close()
	c := &candidate{e: e, wire: w, past: &e.past}
	h, err := c.run(ctx)
	if err != nil {
		c.withdraw(ctx)
		return fmt.Errorf("lease %s: %w", e.key, err)
	}
	if ctx.Err() != nil {
		e.release(ctx, h, false)
		return fmt.Errorf("lease %s: %w", e.key, context.Cause(ctx))
	}
	return e.serve(ctx, h, lead)
}

// serve calls lead while this replica holds the Lease.
func (e *Elector) serve(ctx context.Context, h *hold, lead func(context.Context, Token) error) error {
	token := Token{Lease: e.key, UID: h.object.uid, Revision: h.object.revision, Transitions: h.claim.transitions}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := newTerm(e, h, cancel)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	keeper.Go(func() { t.keep(renewing) })
	e.setTerm(t)
	e.log.Info("leading", "lease", e.key.String(), "identity", e.options.Identity, "transitions", h.claim.transitions)
	err, lost := func() (err, lost error) {
		defer func() { // also if lead panics
			if lost = t.end(); lost != nil && wait.Ended(working, err) {
				err = nil
			}
			e.setTerm(nil)
			stop()
			keeper.Wait()
		}()
		return lead(working, token), nil
	}()
	if t.ours() {
		e.release(ctx, h, false)
	}
	switch {
	case lost == nil:
		return err
	case err == nil:
		return fmt.Errorf("lease %s: %w", e.key, lost)
	}
	return fmt.Errorf("lease %s: %w; the work ended with: %w", e.key, lost, err)
}

// release releases the Lease if this replica still holds it, until it would expire anyway.
// ctx may be done. With look it is unknown whether this replica ever held it.
func (e *Elector) release(ctx context.Context, h *hold, look bool) {
	until := time.Now().Add(e.options.RenewDeadline)
	if end := h.sent.Add(e.options.Duration); end.Before(until) {
		until = end // it has expired for the others
	}
	if !time.Now().Before(until) {
		return
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	for {
		began := time.Now()
		var err error
		if look {
			err = h.look(ctx)
		}
		if err == nil {
			look = false
			err = h.release(ctx)
		}
		if err == nil {
			e.log.Info("the lease is released", "lease", e.key.String())
		}
		if err == nil || errors.Is(err, errGone) {
			return
		}
		e.failed(err, false)
		if wait.For(ctx, time.Until(began.Add(e.options.RetryPeriod))) != nil {
			return
		}
	}
}

// Identity returns the name of this replica in the Lease.
func (e *Elector) Identity() string { return e.options.Identity }

// Leader returns the holder that was last seen in the Lease; empty = none. It is for people, not
// for decisions: the holder may have changed since.
func (e *Elector) Leader() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leader
}

// IsLeader reports whether lead runs and, by the monotonic and the wall clock, no other replica
// can lead. After the machine was suspended, it returns false at once, but the context of lead is
// cancelled only when the next renewal finds another holder, up to RetryPeriod and one request
// later. In that time the [Token] protects writes.
func (e *Elector) IsLeader() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term != nil && e.term.valid()
}

// Check is for a liveness probe: it fails if lead still runs although another replica may
// lead, because lead did not return in time. The process should then be killed.
func (e *Elector) Check() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil {
		if err := e.term.check(); err != nil {
			return fmt.Errorf("lease %s: %w", e.key, err)
		}
	}
	return nil
}

// Ready is for a readiness probe: it fails while the server refuses requests for the Lease
// (401, 403, 404), for instance because permissions are missing: then no replica leads.
func (e *Elector) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refusal != nil {
		return fmt.Errorf("requests for the lease %s are refused: %w", e.key, e.refusal)
	}
	return nil
}

func (e *Elector) seconds() int { return int(e.options.Duration / time.Second) }

func (e *Elector) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.running
	e.running = true
	return !was
}

func (e *Elector) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = false
}

func (e *Elector) setTerm(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// see stores the holder that was seen.
func (e *Elector) see(leader string) {
	e.mu.Lock()
	changed := e.leader != leader
	e.leader = leader
	e.mu.Unlock()
	if f := e.options.Trace.Leader; changed && f != nil {
		f(leader)
	}
}

// failed reports a failure: a warning for the first of a kind.
func (e *Elector) failed(err error, leading bool) {
	kind, message := "fail", "requests for the lease fail; trying again"
	var refused error
	for _, refusal := range []error{kube.ErrUnauthorized, kube.ErrForbidden, kube.ErrNotFound, errForeign} {
		if errors.Is(err, refusal) {
			kind, message = refusal.Error(), "requests for the lease are refused; trying again"
			refused = err
		}
	}
	level := slog.LevelDebug
	e.mu.Lock()
	e.refusal = refused
	if e.reported != kind {
		e.reported, level = kind, slog.LevelWarn
	}
	e.mu.Unlock()
	e.log.Log(context.Background(), level, message, "lease", e.key.String(), "leading", leading, "err", err)
	if f := e.options.Trace.Failed; f != nil {
		f(err)
	}
}

// succeeded reports that requests succeed again, if a failure was reported.
func (e *Elector) succeeded() {
	e.mu.Lock()
	over := e.reported != ""
	e.reported, e.refusal = "", nil
	e.mu.Unlock()
	if over {
		e.log.Info("requests for the lease succeed again", "lease", e.key.String())
	}
}

// now returns the time by the monotonic clock and by the wall clock.
func (e *Elector) now() (mono, wall time.Time) { return time.Now(), e.clock().Round(0) }
