package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/lease"
)

// Runner is a part of a Manager: an informer, a group of them, a controller, a recorder
// of events. Run returns when ctx has ended and all its goroutines have.
type Runner interface {
	Run(ctx context.Context) error
}

// Elector calls lead once, while this process is the leader, with a context that ends
// before another process can lead: a *lease.Elector. Run returns when lead has
// returned.
type Elector interface {
	Run(ctx context.Context, lead func(context.Context, lease.Token) error) error
	Check() error // nil = leading, or waiting for leadership
}

// Options are the settings of a Manager; the zero value suits a program that runs once
// and serves nothing.
type Options struct {
	// Elector, if set, restricts the parts of AddLed to the leader.
	Elector Elector

	// Listen is an address for /healthz, /readyz and /metrics. ":8080" can be reached
	// by the kubelet and by anyone who can reach the pod, "127.0.0.1:8080" from the
	// same host only. /healthz asks the Elector and each part that has a method
	// Check() error, such as a lease.Ring, and /readyz those with Ready() error.
	// Default: none.
	Listen string

	// Metrics serves /metrics, see package metrics; nil = 404.
	Metrics http.Handler

	// Signals stops the Manager at the first SIGINT or SIGTERM; the second one ends the
	// process at once. The same signal within 250 ms does not count as a second one:
	// timeout(1) sends it to the program and to its process group.
	Signals bool

	// StopTimeout limits the time in which all parts must stop. Default 30 s.
	StopTimeout time.Duration

	// Logger gets a line when the Manager stops, with the reason. It is also the logger
	// of all parts without their own: informers, groups, controllers, recorders and the
	// elector then log changes of their state. Default: none.
	Logger *slog.Logger
}

// Manager runs the parts of a program, and stops them in order: first the controllers,
// then the lease, then the caches, finally the listener.
type Manager struct {
	o   Options
	log *slog.Logger

	mu       sync.Mutex
	running  bool
	leading  bool
	stopping bool
	always   []part
	led      []part
	checks   []check
	busy     map[string]int // parts that have not returned yet, by name
	err      error          // the first error
	address  string

	serving sync.WaitGroup
}

// part is a Runner of the Manager.
type part struct {
	Runner
	optional bool // it may end
}

// attacher is a controller with any type of keys.
type attacher interface {
	Attach()
	Name() string
}

type check struct {
	name string
	f    func() error
}

// New returns a manager without parts.
func New(o Options) *Manager {
	if o.StopTimeout <= 0 {
		o.StopTimeout = 30 * time.Second
	}
	for name, v := range map[string]any{"Elector": o.Elector, "Metrics": o.Metrics} {
		if v != nil && isNil(v) {
			panic(fmt.Sprintf("manager: Options.%s is a nil %T: leave it out where there is none", name, v))
		}
	}
	m := &Manager{o: o, log: o.Logger, busy: make(map[string]int)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m
}

// Add adds parts that always run: informers, groups, recorders. It must be called
// before Run.
func (m *Manager) Add(runners ...Runner) { m.add(&m.always, false, runners) }

// AddLed adds parts that run only while this process leads, or always without an
// Elector: controllers. It must be called before Run.
func (m *Manager) AddLed(runners ...Runner) { m.add(&m.led, false, runners) }

// AddOptional adds parts that always run and may end: the Manager then logs the reason
// and continues, and /readyz does not depend on them. It must be called before Run.
func (m *Manager) AddOptional(runners ...Runner) { m.add(&m.always, true, runners) }

func (m *Manager) add(to *[]part, optional bool, runners []Runner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running {
		panic("manager: add to a Manager before Run")
	}
	for n, r := range runners {
		if r == nil {
			panic(fmt.Sprintf("manager: runner %d of %d that is added to the Manager is nil", n+1, len(runners)))
		}
		if isNil(r) {
			panic(fmt.Sprintf("manager: runner %d of %d that is added to the Manager is a nil %T", n+1, len(runners), r))
		}
		*to = append(*to, part{r, optional})
	}
}

// CheckReady adds a condition to /readyz: f returns nil if it holds.
func (m *Manager) CheckReady(name string, f func() error) {
	if f == nil {
		panic("manager: the readiness check " + name + " is nil")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks = append(m.checks, check{name, f})
}

// Run runs all parts until ctx ends, a signal arrives, the leadership is lost, or a
// part ends by itself, except one of AddOptional; then it stops all and returns the
// first error. It returns nil if ctx or a signal ended it, unless a controller waited
// for an informer that was never run. Parts that do not stop within StopTimeout are
// named in the error and still run: the process should then exit, without releasing its
// lease. Two controllers with one name are an error.
func (m *Manager) Run(ctx context.Context) error {
	m.mu.Lock()
	if m.running {
		m.mu.Unlock()
		return errors.New("manager: Run was called before")
	}
	m.running = true
	m.mu.Unlock()
	if err := m.checkNames(); err != nil {
		return err
	}
	m.passLogger()

	if m.o.Signals {
		var release func()
		ctx, release = withSignals(ctx)
		defer release()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	below, stopBelow := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopBelow(nil)

	server, err := m.serve()
	if err != nil {
		return err
	}
	defer m.serving.Wait()
	defer server.Close()

	if m.o.Elector == nil { // before the caches begin: a deletion found at a start from a snapshot is an event
		for _, p := range slices.Concat(m.always, m.led) {
			if c, ok := p.Runner.(attacher); ok {
				c.Attach()
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var always sync.WaitGroup
		for _, p := range m.always {
			always.Go(func() { m.run(below, p, stop) })
		}
		m.lead(ctx, stop)
		<-ctx.Done()
		stopBelow(context.Cause(ctx))
		always.Wait()
		server.Close()
	}()
	<-ctx.Done()
	m.mu.Lock()
	m.stopping = true
	m.mu.Unlock()
	m.log.Info("stopping")
	patience := time.NewTimer(m.o.StopTimeout)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		m.leave()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// lead runs the parts of AddLed while leading, and returns when they have stopped.
func (m *Manager) lead(ctx context.Context, stop context.CancelCauseFunc) {
	if len(m.led) == 0 {
		return
	}
	act := func(leading context.Context, _ lease.Token) error {
		m.setLeading(true)
		defer m.setLeading(false)
		defer context.AfterFunc(leading, func() { // the elector waits for parts that do not stop
			if ctx.Err() == nil {
				m.endBy(context.Cause(leading), stop)
			}
		})()
		var led sync.WaitGroup
		for _, p := range m.led {
			led.Go(func() { m.run(leading, p, stop) })
		}
		led.Wait()
		return nil
	}
	if m.o.Elector == nil {
		_ = act(ctx, lease.Token{})
		return
	}
	electing := m.enter("leader election")
	err := m.o.Elector.Run(ctx, func(leading context.Context, t lease.Token) error {
		electing() // until act returns, the elector waits for its parts
		defer func() { electing = m.enter("leader election") }()
		return act(leading, t)
	})
	electing()
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("leader election ended")
	}
	m.endBy(err, stop)
}

// endBy stops all parts because the leadership has ended.
func (m *Manager) endBy(err error, stop context.CancelCauseFunc) {
	m.fail(fmt.Errorf("manager: %w", err))
	stop(err)
}

// run runs p. If it ends by itself, all parts are stopped, unless it is optional.
func (m *Manager) run(ctx context.Context, p part, stop context.CancelCauseFunc) {
	name := nameOf(p.Runner)
	defer m.enter(name)()
	named, err := false, errors.New("it called runtime.Goexit") // unless it returns
	defer func() {
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())) {
			return
		}
		if err == nil {
			err = errors.New("it ended without being stopped")
		}
		if p.optional {
			m.log.Error("an optional part ended", "part", name, "err", err)
			return
		}
		if ctx.Err() == nil {
			m.log.Error("stopping, because a part ended", "part", name, "err", err)
		} else {
			m.log.Error("a part failed while it was stopped", "part", name, "err", err)
		}
		if !named {
			err = fmt.Errorf("%s: %w", name, err)
		}
		m.fail(err)
		stop(err)
	}()
	err = p.Run(ctx)
	_, named = p.Runner.(attacher) // the errors of a controller name it
	named = named && err != nil
}

// checkNames fails if two controllers have one name: their logs and metrics could not
// be distinguished.
func (m *Manager) checkNames() error {
	seen := make(map[string]bool)
	for _, p := range slices.Concat(m.always, m.led) {
		c, ok := p.Runner.(attacher)
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

// passLogger passes the logger to all parts.
func (m *Manager) passLogger() {
	if m.o.Logger == nil {
		return
	}
	all := []any{m.o.Elector}
	for _, p := range slices.Concat(m.always, m.led) {
		all = append(all, p.Runner)
	}
	for _, r := range all {
		if r, ok := r.(interface{ SetLogger(*slog.Logger) }); ok {
			r.SetLogger(m.o.Logger)
		}
	}
}

// fail stores the first error.
func (m *Manager) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// leave adds the parts that still run to the error.
func (m *Manager) leave() {
	err := fmt.Errorf("not stopped in %s: %s", m.o.StopTimeout, strings.Join(m.left(), ", "))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = fmt.Errorf("manager: %w", err)
		return
	}
	m.err = fmt.Errorf("%w; %w", m.err, err)
}

func (m *Manager) setLeading(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leading = yes
}

// Leading reports whether the parts of AddLed run.
func (m *Manager) Leading() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leading
}

// nameOf returns the name of a runner for messages: "controller foo", "informer of pods
// in default", "shared informers".
func nameOf(r Runner) string {
	switch r := r.(type) {
	case interface {
		Name() string
		Status() cache.Status
	}:
		return "informer of " + r.Name()
	case interface{ Status() []cache.Status }:
		return "shared informers"
	case interface{ Name() string }:
		return "controller " + r.Name()
	}
	return strings.TrimLeft(fmt.Sprintf("%T", r), "*")
}
