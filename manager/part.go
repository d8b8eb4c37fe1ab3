package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/cache"
)

// part is a Runner of the Manager.
type part struct {
	Runner
	optional bool // it may end

	started bool          // guarded by Manager.mu
	removed chan struct{} // closed by Remove
	done    chan struct{} // closed when it has ended
	err     error         // why it failed after it was removed; set before done is closed
}

// stage is parts that are started together. It is guarded by Manager.mu.
type stage struct {
	parts []*part
	start func(*part) // starts a part that is added; nil = they do not run
}

// Add adds parts that always run: informers, groups, recorders. While the Manager runs, it starts
// them at once, and /readyz depends on them too; while it stops, it starts no part. Add panics if
// a part is nil, and while the Manager runs also if a controller has the name of another one.
// When the Manager stops, and the parts of AddLed have ended, a part with a method StopsFirst(),
// such as a webhook.Server, ends before the other parts are stopped: it may need them until then.
func (m *Manager) Add(runners ...Runner) { m.add(&m.always, false, runners) }

// AddLed adds parts, such as controllers, that run only while this process leads. Without an
// Elector they always run. The rest is as for Add.
func (m *Manager) AddLed(runners ...Runner) { m.add(&m.led, false, runners) }

// AddOptional adds parts that always run and may end: the Manager then logs the reason
// and continues, and /readyz does not depend on them. The rest is as for Add.
func (m *Manager) AddOptional(runners ...Runner) { m.add(&m.always, true, runners) }

func (m *Manager) add(to *stage, optional bool, runners []Runner) {
	for n, r := range runners {
		if r == nil {
			panic(fmt.Sprintf("manager: runner %d of %d that is added to the Manager is nil", n+1, len(runners)))
		}
		if isNil(r) {
			panic(fmt.Sprintf("manager: runner %d of %d that is added to the Manager is a nil %T", n+1, len(runners), r))
		}
	}
	if m.append(to, optional, runners, false) { // Run prepares them
		return
	}
	if err := m.checkNames(runners...); err != nil {
		panic(err.Error())
	}
	m.prepare(runners...)
	m.append(to, optional, runners, true)
}

// append adds parts to a stage. It returns false if they must be prepared before, because
// Run was called.
func (m *Manager) append(to *stage, optional bool, runners []Runner, prepared bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running && !prepared {
		return false
	}
	for _, r := range runners {
		p := &part{Runner: r, optional: optional, removed: make(chan struct{}), done: make(chan struct{})}
		at := to
		if _, ok := r.(interface{ StopsFirst() }); ok && to == &m.always {
			at = &m.asked
		}
		at.parts = append(slices.Clip(at.parts), p)
		if at.start != nil {
			at.start(p)
		}
	}
	if len(m.led.parts) > 0 {
		select {
		case <-m.wanted:
		default:
			close(m.wanted)
		}
	}
	return true
}

// Remove stops a part and waits until it has ended. If ctx ends first, the part still runs. The
// other parts continue. If the part fails while it is being stopped, Remove returns its error. A
// part that does not run, before Run or as a part of AddLed without leadership, is only removed.
// A runner runs once: to add it again, make another one, and first remove the metrics of this one
// by the function that metrics.Controller or metrics.Informer returned. Go cannot compare two
// functions: to remove a runner of such a type, add a pointer to it.
func (m *Manager) Remove(ctx context.Context, r Runner) error {
	m.mu.Lock()
	var p *part
	for _, s := range []*stage{&m.always, &m.asked, &m.led} {
		if n := slices.IndexFunc(s.parts, func(p *part) bool { return same(p.Runner, r) }); p == nil && n >= 0 {
			p = s.parts[n]
			s.parts = slices.Delete(slices.Clone(s.parts), n, n+1)
		}
	}
	started := p != nil && p.started
	m.mu.Unlock()
	switch {
	case !reflect.ValueOf(r).Comparable():
		return fmt.Errorf("manager: remove a part: a %T cannot be compared with the parts: add and remove a pointer to it", r)
	case p == nil:
		return errors.New("manager: remove a part: the Manager does not have it")
	case !started:
		return nil
	}
	close(p.removed)
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("manager: remove %s: %w", nameOf(r), context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("manager: remove %s: %w", nameOf(r), p.err)
	}
	return nil
}

// same reports whether a and b are one runner.
func same(a, b Runner) bool {
	return b != nil && reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// begin starts the parts of s, and those that are added to it until ctx ends, in running.
// all is the context that stop ends.
func (m *Manager) begin(ctx, all context.Context, s *stage, stop context.CancelCauseFunc, running *sync.WaitGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	start := func(p *part) {
		p.started = true
		running.Go(func() { m.run(ctx, all, p, stop) })
	}
	s.start = func(p *part) {
		if all.Err() == nil {
			start(p)
		}
	}
	for _, p := range s.parts {
		start(p)
	}
	running.Go(func() { // as long as parts can be added
		<-ctx.Done()
		m.mu.Lock()
		defer m.mu.Unlock()
		s.start = nil
	})
}

// runners returns all parts.
func (m *Manager) runners() (all []Runner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range slices.Concat(m.always.parts, m.asked.parts, m.led.parts) {
		all = append(all, p.Runner)
	}
	return all
}

// checkNames fails if two controllers have one name, of the parts and those that are to be
// added: their logs and metrics could not be distinguished.
func (m *Manager) checkNames(added ...Runner) error {
	seen := make(map[string]bool)
	for _, r := range append(m.runners(), added...) {
		c, ok := r.(attacher)
		if !ok {
			continue
		}
		if seen[c.Name()] {
			return fmt.Errorf("manager: two controllers have the name %q: each needs one of its own", c.Name())
		}
		seen[c.Name()] = true
	}
	return nil
}

// prepare passes parts what they need of the Manager before they run.
func (m *Manager) prepare(runners ...Runner) {
	for _, r := range runners {
		if r, ok := r.(interface{ SetLogger(*slog.Logger) }); ok && m.o.Logger != nil {
			r.SetLogger(m.o.Logger)
		}
		if r, ok := r.(interface{ DetectMutations(func(cache.Mutation)) }); ok && m.o.DetectMutations {
			r.DetectMutations(m.mutation)
		}
	}
}
