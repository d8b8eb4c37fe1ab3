package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// Ring divides objects among replicas, its members. The hash of an object's UID assigns the object
// to one of 256 slots. A slot has at most one owner at a time, with the exceptions below and under
// the conditions of an [Elector], which the comment of the package lists. Members claim free slots.
//
// Each member renews a Lease of its own, which names the table that it reads. One more Lease,
// named by the key of the ring, holds the table of the slots' owners. A member writes the table
// only if the table has not changed since the member read it, and claims no slots while a member
// that names a deleted table may be alive. An owner releases a slot after its work on the slot has
// ended. In each turn a member reads the table and then renews its Lease. If for RenewDeadline no
// turn succeeds in both, the member loses its slots, and joins again. When its Lease has not
// changed for Duration, other members take the slots. As with an [Elector], each process uses only
// its own clock. A process that was frozen may write after it has lost its slots: [Share.Token]
// protects against that.
//
// A Lease that somebody deletes by hand counts as alive for its Duration. But a member that joined
// too late to read this Lease waits only for its own Duration, which may be shorter. The Lease of a
// member that leaves while there is no table counts as alive too: until its Duration has passed,
// the others claim no slots. But if both a table and the Lease of an owner are deleted before a
// member has read either, the member cannot know of that owner, and may claim its slots while the
// work on them ends. In the same way a member that joins after the table was edited by hand may
// claim the slots that the edit took from an owner.
type Ring struct {
	client  *client.Client
	key     kube.Key
	options Options
	log     *slog.Logger // fixed while it runs
	report  *Elector     // which does not run: it reports failures
	met     bool         // a member has seen the table; used by Run only
	history              // used by Run only

	mu      sync.Mutex
	running bool
	overrun *overrun // while work goes on after the end of the member that began it
}

// overrun is work on slots that the member does not renew any more.
type overrun struct {
	from time.Time // other members may own the slots from then on
	err  error     // why the member ended
}

// NewRing returns a ring whose table is the Lease named k. The name of a member's Lease is
// k.Name and a random suffix; Options.Identity is only for people. k.Name has at most 63
// characters, because it is also the value of a label. The requests need the verbs get, list,
// create, update and delete on leases of coordination.k8s.io.
func NewRing(c *client.Client, k kube.Key, o Options) (*Ring, error) {
	e, err := New(c, k, o)
	if err != nil {
		return nil, err
	}
	if len(k.Name) > 63 {
		return nil, fmt.Errorf("ring %s: the name is the value of a label, and must not be longer than 63 characters", k)
	}
	return &Ring{client: c, key: k, options: e.options, log: e.log, report: e, history: history{seen: make(map[string]sighting)}}, nil
}

// Ready is for a readiness probe: it fails while the server refuses requests for the
// Leases (401, 403, 404), and while the Lease of the ring's key is not the table of a ring, or
// its table is malformed. Then this process cannot claim slots.
func (r *Ring) Ready() error { return r.report.Ready() }

// Check is for a liveness probe: it fails if apply still runs although other members may own slots
// that it works on, because apply did not return in time. The process should then be killed.
func (r *Ring) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.overrun; o != nil && !time.Now().Before(o.from) {
		return fmt.Errorf("ring %s: the work still runs, although other members may own its slots: %w", r.key, o.err)
	}
	return nil
}

// SetLogger sets the logger of a ring whose Options have none. A Manager calls it; while
// the ring runs it does nothing.
func (r *Ring) SetLogger(l *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.options.Logger == nil && !r.running {
		r.log = l
		r.report.SetLogger(l)
	}
}

func (r *Ring) setOverrun(o *overrun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overrun = o
}

// Run takes part in the ring until ctx is done. It calls apply with each new share of this
// member, one call at a time. apply must return only when all work on slots outside the share
// has ended, because other members may own them afterwards. Work on the slots of the share
// may continue after apply has returned.
//
// If the slots are lost, the ctx of apply is cancelled, all work must end within Duration
// minus RenewDeadline, and apply is called again with the empty Share. Then Run joins the
// ring again as a new member.
//
// When ctx is done, Run calls apply with the empty Share, releases the slots, which takes
// RenewDeadline at most, and returns the cause of ctx. An error of apply, unless it says only that
// the ctx of apply has ended, ends Run too and is returned, with ErrLost if the slots were lost;
// they are then not released but expire.
//
// If the table does not exist, Run waits before it creates it: for the longest Duration of
// the known members, unless Options.TakeMissing is set.
func (r *Ring) Run(ctx context.Context, apply func(ctx context.Context, s Share) error) error {
	if apply == nil {
		return fmt.Errorf("ring %s: the function that is called with shares is nil", r.key)
	}
	r.mu.Lock()
	was := r.running
	r.running = true
	r.mu.Unlock()
	if was {
		return fmt.Errorf("ring %s: it runs already", r.key)
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running = false
	}()
	for {
		lost, err := r.member(apply).run(ctx)
		switch {
		case lost != nil && err != nil:
			return fmt.Errorf("ring %s: %w; the work ended with: %w", r.key, lost, err)
		case err != nil:
			return fmt.Errorf("ring %s: %w", r.key, err)
		case ctx.Err() != nil:
			return fmt.Errorf("ring %s: %w", r.key, context.Cause(ctx))
		}
		r.log.Warn("the slots are lost; joining again", "ring", r.key.String(), "err", lost)
	}
}

// ringMember is one membership of a ring: from joining until it leaves or loses its slots.
type ringMember struct {
	*Ring
	apply   func(context.Context, Share) error
	wire    *ringWire
	name    string    // of its Lease
	missing time.Time // since when there was no table; zero = there is one

	own   object    // its Lease
	table ringTable // as last read or written
	share Share     // that it owns by the table
	valid time.Time // until then no other member can own the share
	split bool      // another member may own slots by a table that was deleted

	// The revision of the table that the last attempt to write it replaces. While the
	// table still has it, that attempt may yet succeed.
	attempt kube.Revision
	asked   [slots]bool // slots that it tried to claim or release, with an unknown outcome

	applied Share      // what apply was last called with
	result  chan error // of the call of apply under way; nil = there is none
}

func (r *Ring) member(apply func(context.Context, Share) error) *ringMember {
	name := r.key.Name + "-" + strings.ToLower(rand.Text()[:12])
	return &ringMember{Ring: r, apply: apply, wire: newRingWire(r, name), name: name}
}

// run returns ErrLost if the slots were lost, and the first error of apply that does not only say
// that its ctx has ended. Without either, the slots were released because ctx was done.
func (m *ringMember) run(ctx context.Context) (lost, failed error) {
	defer m.wire.close()
	owning, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	defer func() {
		why := cmp.Or(failed, lost)
		lose(why)
		if m.result == nil && m.applied == (Share{}) {
			return
		}
		m.setOverrun(&overrun{m.valid.Add(m.options.Duration - m.options.RenewDeadline), cmp.Or(why, ErrLost)})
		defer m.setOverrun(nil)
		if m.result != nil {
			failed = <-m.result // there was none
		}
		if m.applied == (Share{}) {
			return
		}
		m.begin(owning, Share{})
		failed = cmp.Or(failed, <-m.result)
	}()
	next := time.NewTimer(0)
	defer next.Stop()
	leave := ctx.Done()
	var until <-chan time.Time // when leaving ends
	for {
		var expired <-chan time.Time
		if m.share != (Share{}) {
			expired = time.After(time.Until(m.valid))
		}
		select {
		case <-leave:
			leave, until = nil, time.After(m.options.RenewDeadline)
			next.Reset(0)
		case <-until:
			return nil, nil
		case <-expired:
			if time.Now().Before(m.valid) {
				continue
			}
			return fmt.Errorf("%w: not renewed for %v", ErrLost, m.options.RenewDeadline), nil
		case err := <-m.result:
			m.result = nil
			if err != nil {
				return nil, err
			}
			next.Reset(0) // release the slots on which work has ended
		case <-next.C:
			err := m.turn(owning, ctx.Err() != nil)
			pause := m.options.RetryPeriod
			switch {
			case errors.Is(err, ErrLost):
				return err, nil
			case errors.Is(err, errLeft):
				return nil, nil
			case errors.Is(err, errOutrun): // at random, so that members do not meet again
				pause = time.Duration(m.report.dice() * float64(pause))
			case err != nil:
				m.report.failed(err, m.share != (Share{}))
			default:
				m.report.succeeded()
			}
			next.Reset(pause)
		}
	}
}

var (
	errLeft   = errors.New("nothing is owned any more")
	errOutrun = errors.New("another request has changed the Lease first")
)

// turn reads all Leases of the ring, renews that of the member, and then moves slots or
// creates the table. If leaving is true it releases all slots. A member that cannot read the
// table does not renew its Lease, so that the others do not reserve slots for it.
func (m *ringMember) turn(owning context.Context, leaving bool) error {
	ctx, cancel := context.WithTimeoutCause(owning, m.options.RenewDeadline/2, fmt.Errorf("no answer within %v", m.options.RenewDeadline/2))
	defer cancel()
	if m.share != (Share{}) {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, m.valid, ErrLost)
		defer stop()
	}
	if leaving && m.own.uid == "" {
		return errLeft
	}
	began := time.Now()
	found, err := m.wire.list(ctx)
	if err != nil {
		m.missing = time.Time{} // the table may have been created meanwhile
		return err
	}
	if err := m.renew(ctx, found.table); err != nil {
		return err
	}
	m.compare(found.table)
	dead, live := m.look(found, began)
	if m.share != (Share{}) && (found.table.object.uid != m.table.object.uid || !m.share.of(m.name, found.table.owners)) {
		m.valid = time.Time{} // others may own the slots
		return fmt.Errorf("%w: the table of the ring was deleted, or edited", ErrLost)
	}
	for slot, owner := range found.table.owners {
		if owner == m.name && !m.share.HasSlot(slot) && !m.asked[slot] {
			m.valid = time.Time{}
			return fmt.Errorf("%w: the table of the ring has slots of this member that it did not claim: it was edited, or the server was restored to an earlier state", ErrLost)
		}
	}
	m.table = found.table
	exists := m.table.object.uid != ""
	if exists {
		m.missing, m.met = time.Time{}, true
	}
	m.valid = began.Add(m.options.RenewDeadline)
	if !time.Now().Before(m.valid) {
		if m.share != (Share{}) {
			return fmt.Errorf("%w: the answers came too late", ErrLost)
		}
		return nil
	}
	if leaving {
		live = without(live, m.name)
	}
	switch {
	case exists:
		if err := m.move(ctx, owning, dead, live); err != nil {
			return err
		}
	case !leaving:
		return m.create(ctx, began)
	}
	if leaving && m.share == (Share{}) && m.result == nil {
		m.wire.delete(ctx, m.own)
		return errLeft
	}
	m.bury(ctx, dead, found)
	return nil
}

// move releases slots on which work has ended and those of dead members, claims those that the
// plan assigns to this member, and calls apply if the share changes.
func (m *ringMember) move(ctx, owning context.Context, dead map[string]bool, live []string) error {
	plan := m.table.owners.planned(live)
	after, wanted, changed := m.table.owners, m.share, false
	for slot, owner := range m.table.owners {
		switch {
		case owner == m.name && plan[slot] != m.name:
			wanted.tokens[slot] = Token{}
			if m.result == nil && !m.applied.HasSlot(slot) { // released, even if the request fails
				m.share.tokens[slot] = Token{}
				after[slot], changed, m.asked[slot] = "", true, true
			}
		case owner == m.name && !m.share.HasSlot(slot):
			// An earlier request claimed the slot, but its response was lost. Since then
			// others may have considered this member dead and claimed the slot. Only a
			// successful write now proves that they have not.
			changed = true
		case owner == m.name || m.split || time.Now().Before(m.doubted):
		case plan[slot] == m.name && (owner == "" || dead[owner]):
			after[slot], changed, m.asked[slot] = m.name, true, true
		case dead[owner]: // free for the member that the plan names, which may have to wait longer
			after[slot], changed = "", true
		}
	}
	// An attempt with an unknown outcome may still release slots on which this member works
	// again. A write of the table gives it another revision, and then the attempt fails.
	if changed || m.attempt == m.table.object.revision {
		m.attempt = m.table.object.revision
		written, err := m.wire.write(ctx, m.table, after)
		if err != nil {
			return err // the next turn reads the outcome
		}
		m.table, m.asked, m.latest = written, [slots]bool{}, written
		for slot, owner := range after {
			if owner == m.name && !m.share.HasSlot(slot) {
				m.share.tokens[slot], wanted.tokens[slot] = m.token(), m.token()
			}
		}
		if !time.Now().Before(m.valid) {
			return fmt.Errorf("%w: the answer to a claim came too late", ErrLost)
		}
	}
	if m.result == nil && wanted != m.applied {
		m.log.Info("the share of the ring changes", "ring", m.key.String(), "member", m.name, "slots", wanted.Len())
		m.begin(owning, wanted)
	}
	return nil
}

// begin calls apply with s. Its error follows on m.result, unless it says only that owning had
// ended when apply returned.
func (m *ringMember) begin(owning context.Context, s Share) {
	m.applied, m.result = s, make(chan error, 1)
	go func(result chan<- error) {
		err := errors.New("the function that is called with shares called runtime.Goexit")
		defer func() { result <- err }()
		if err = m.apply(owning, s); wait.Ended(owning, err) {
			err = nil
		}
	}(m.result)
}

// token returns the token of slots that the current table assigns to this member.
func (m *ringMember) token() Token {
	o := m.table.object
	return Token{Lease: m.key, UID: o.uid, Revision: o.revision, Transitions: o.record.Transitions}
}
