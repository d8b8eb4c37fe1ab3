package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Ring divides objects among replicas: each of 256 slots of the hash of UIDs is owned by
// one member at a time, and by some member as long as there is one.
//
// Each member renews a Lease of its own. Another Lease, that of the ring's key, holds the
// table of who owns which slot, and changes only if nobody else has changed it since it
// was read. An owner gives up a slot itself, after its work there has ended. Slots of a
// member whose Lease has not changed for Duration are taken by others: by then it has
// stopped, for an owner whose Lease and table it could not renew and read for
// RenewDeadline loses all of its slots. As for an [Elector], only clocks of one's own are
// believed, and a process that stood still is kept from harm by [Share.Token].
type Ring struct {
	client  *client.Client
	key     kube.Key
	options Options
	log     *slog.Logger
	report  *Elector // which does not run: it reports failures
	met     bool     // a member has seen the table; used by Run only

	mu      sync.Mutex
	running bool
	overrun *overrun // while work goes on after the end of the member that began it
}

// overrun is work on slots that the member does not renew any more.
type overrun struct {
	from time.Time // other members may own the slots from then on
	err  error     // why the member ended
}

// NewRing returns a ring whose table is the Lease named k. Options.Identity is for people:
// the names of the members' Leases begin with k.Name and end in something random. k.Name
// has 63 characters at most, because it is the value of a label too. The requests need the
// verbs get, list, create, update and delete on leases.
func NewRing(c *client.Client, k kube.Key, o Options) (*Ring, error) {
	e, err := New(c, k, o)
	if err != nil {
		return nil, err
	}
	if len(k.Name) > 63 {
		return nil, fmt.Errorf("ring %s: the name is the value of a label, and must not be longer than 63 characters", k)
	}
	return &Ring{client: c, key: k, options: e.options, log: e.log, report: e}, nil
}

// Ready is for a readiness probe: it fails while the server refuses requests for the
// Leases (401, 403, 404), and while the Lease of the ring's name is not the table of a
// ring: then this process owns no slot.
func (r *Ring) Ready() error { return r.report.Ready() }

// Check is for a liveness probe: it fails if apply still runs although other members may
// own slots that it works on, because it did not return in time. The process should then
// be killed.
func (r *Ring) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.overrun; o != nil && !time.Now().Before(o.from) {
		return fmt.Errorf("ring %s: the work still runs, although other members may own its slots: %w", r.key, o.err)
	}
	return nil
}

func (r *Ring) setOverrun(o *overrun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overrun = o
}

// Run takes part in the ring until ctx is done. It calls apply, once at a time, with each
// new share of this member. apply returns when no work on slots outside of that share goes
// on any more: then others may own those. A share is never changed before apply has
// returned, but it may be lost: then the ctx of apply is cancelled, and all work must end
// within Duration less RenewDeadline; apply is called once more, with the empty Share.
// After that Run joins the ring again as another member.
//
// When ctx is done, apply is called with the empty Share, the slots are given up, which
// takes RenewDeadline at most, and Run returns the cause of ctx. An error of apply ends
// Run, too; then the slots are not given up, but run out.
//
// Where the table does not exist, it is created after Duration, unless TakeMissing is set.
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
		err := r.member(apply).run(ctx)
		if ctx.Err() != nil && (err == nil || errors.Is(err, ErrLost)) {
			return fmt.Errorf("ring %s: %w", r.key, context.Cause(ctx))
		}
		if !errors.Is(err, ErrLost) {
			return fmt.Errorf("ring %s: %w", r.key, err)
		}
		r.log.Warn("the slots are lost; joining again", "ring", r.key.String(), "err", err)
	}
}

// ringMember takes part in a ring from when it joins to when it leaves or has lost its slots.
type ringMember struct {
	*Ring
	apply   func(context.Context, Share) error
	wire    *ringWire
	name    string // of its Lease
	seen    map[string]sighting
	missing time.Time // since when there was no table; zero = there is one

	own   object    // its Lease
	table ringTable // as last read or written
	share Share     // that it owns by the table
	valid time.Time // until when the share is certainly its own

	// The revision of the table that the last attempt to write it replaces. While the
	// table still has it, that attempt may yet succeed.
	attempt kube.Revision

	applied Share      // what apply was last called with
	result  chan error // of the call of apply under way; nil = there is none
}

// sighting is what was last seen of the Lease of a member, and since when.
type sighting struct {
	mark  string
	since time.Time
	lasts time.Duration
}

func (r *Ring) member(apply func(context.Context, Share) error) *ringMember {
	name := r.key.Name + "-" + strings.ToLower(rand.Text()[:12])
	return &ringMember{Ring: r, apply: apply, wire: newRingWire(r, name), name: name, seen: make(map[string]sighting)}
}

// run returns ErrLost if the slots were lost, nil when they were given up because ctx was
// done, or an error of apply.
func (m *ringMember) run(ctx context.Context) (err error) {
	defer m.wire.close()
	owning, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer lose(nil)
	defer func() {
		lose(err)
		if m.result == nil && m.applied == (Share{}) {
			return
		}
		m.setOverrun(&overrun{m.valid.Add(m.options.Duration - m.options.RenewDeadline), cmp.Or(err, ErrLost)})
		defer m.setOverrun(nil)
		if m.result != nil {
			<-m.result
		}
		if m.applied == (Share{}) {
			return
		}
		m.begin(owning, Share{})
		if last := <-m.result; err == nil {
			err = last
		}
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
			return nil
		case <-expired:
			if time.Now().Before(m.valid) {
				continue
			}
			return fmt.Errorf("%w: not renewed for %v", ErrLost, m.options.RenewDeadline)
		case err := <-m.result:
			m.result = nil
			if err != nil {
				return err
			}
			next.Reset(0) // what was drained is given up
		case <-next.C:
			err := m.turn(owning, ctx.Err() != nil)
			pause := m.options.RetryPeriod
			switch {
			case errors.Is(err, ErrLost):
				return err
			case errors.Is(err, errLeft):
				return nil
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

// turn reads the Leases of all, renews that of the member, and does what is next. With
// leaving it gives all up. A member that cannot read the table does not renew its Lease,
// so that the others keep no slots free for it.
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
		m.missing = time.Time{} // it may exist meanwhile
		return err
	}
	if err := m.renew(ctx); err != nil {
		return err
	}
	dead, live := m.look(found, began)
	if m.share != (Share{}) && (found.table.object.uid != m.table.object.uid || !m.share.of(m.name, found.table.owners)) {
		m.valid = time.Time{} // others may own the slots
		return fmt.Errorf("%w: the table of the ring was deleted, or edited", ErrLost)
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

// move gives up what was drained, claims what the plan gives to this member, and has apply
// called with what follows from that.
func (m *ringMember) move(ctx, owning context.Context, dead map[string]bool, live []string) error {
	plan := m.table.owners.planned(live)
	for slot, owner := range m.table.owners { // claimed by a request whose answer was lost
		if owner == m.name && !m.share.HasSlot(slot) {
			m.share.tokens[slot] = m.token()
		}
	}
	after, wanted, changed := m.table.owners, m.share, false
	for slot, owner := range m.table.owners {
		switch {
		case owner == m.name && plan[slot] != m.name:
			wanted.tokens[slot] = Token{}
			if m.result == nil && !m.applied.HasSlot(slot) {
				after[slot], changed = "", true
			}
		case owner != m.name && plan[slot] == m.name && (owner == "" || dead[owner]):
			after[slot], changed = m.name, true
		}
	}
	// An attempt whose outcome is not known may give up slots that are worked on again by
	// now. It fails once the table has another revision.
	if changed || m.attempt == m.table.object.revision {
		m.attempt = m.table.object.revision
		written, err := m.wire.write(ctx, m.table, after)
		if err != nil {
			return err // if the outcome is not known, the next turn reads it
		}
		was := m.table.owners
		m.table = written
		for slot, owner := range after {
			switch {
			case owner != m.name:
				m.share.tokens[slot], wanted.tokens[slot] = Token{}, Token{}
			case was[slot] != m.name:
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

// begin calls apply with s. Its error follows on m.result.
func (m *ringMember) begin(owning context.Context, s Share) {
	m.applied, m.result = s, make(chan error, 1)
	go func(result chan<- error) {
		err := errors.New("the function that is called with shares called runtime.Goexit")
		defer func() { result <- err }()
		err = m.apply(owning, s)
	}(m.result)
}

// token returns the token of slots that the table, as it is now, gives to this member.
func (m *ringMember) token() Token {
	o := m.table.object
	return Token{Lease: m.key, UID: o.uid, Revision: o.revision, Transitions: o.record.Transitions}
}

// look notes which Leases have changed, and returns the owners and members that cannot
// own anything any more, and the members that are alive.
func (m *ringMember) look(f found, asked time.Time) (dead map[string]bool, live []string) {
	now, dead := time.Now(), make(map[string]bool)
	note := func(name, mark string, lasts time.Duration) bool {
		s, known := m.seen[name]
		if !known || s.mark != mark {
			s = sighting{mark, now, lasts}
			m.seen[name] = s
		}
		return asked.Sub(s.since) < max(m.options.Duration, s.lasts)
	}
	live = []string{m.name}
	for name, o := range f.members {
		switch {
		case name == m.name:
		case note(name, o.mark, seconds(o.record.Seconds)):
			live = append(live, name)
		default:
			dead[name] = true
		}
	}
	for _, name := range f.table.owners {
		if _, exists := f.members[name]; name != "" && !exists && !note(name, "", m.seen[name].lasts) {
			dead[name] = true
		}
	}
	maps.DeleteFunc(m.seen, func(name string, _ sighting) bool {
		_, exists := f.members[name]
		return !exists && !slices.Contains(f.table.owners[:], name)
	})
	return dead, live
}
