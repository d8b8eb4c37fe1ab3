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

// Runner is what a Manager runs: an informer, a group of them, a controller, a
// recorder of events. Run returns when ctx ends and nothing of it runs any more.
type Runner interface {
	Run(ctx context.Context) error
}

// Elector calls lead once, while this process is the leader, with a context that
// ends before another one can be: a *lease.Elector. Run returns when lead has.
type Elector interface {
	Run(ctx context.Context, lead func(context.Context, lease.Token) error) error
	Check() error // nil = well: leading, or waiting for it
}

// Options are the settings of a Manager; the zero value is good for a
// program that is run once and serves nothing.
type Options struct {
	// Elector, if set, lets only the leader run what was added by AddLed.
	Elector Elector

	// Listen is an address to serve /healthz, /readyz and /metrics at. ":8080" is
	// reached by the kubelet and by everybody else who can reach the pod,
	// "127.0.0.1:8080" from the same host only. Default: none.
	Listen string

	// Metrics serves /metrics, as package metrics makes it; nil = 404.
	Metrics http.Handler

	// Signals stops at the first SIGINT or SIGTERM; the second ends the process at
	// once. The same signal within 250 ms of the first is no second one: timeout(1)
	// sends it to the program and to its process group.
	Signals bool

	// StopTimeout is how long everything has to stop, together. Default 30 s.
	StopTimeout time.Duration

	// Logger gets a line when the Manager stops, and why. It is passed to all that
	// the Manager runs and that has no logger by its own options: informers,
	// groups, controllers, recorders and the elector then log changes of their
	// state. Default: none.
	Logger *slog.Logger
}

// Manager runs what a program consists of, and stops it in order: first what acts,
// then the lease, then the caches, at last the listener.
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
	busy     map[string]int // what has not returned yet, by name
	err      error          // the first
	address  string

	serving sync.WaitGroup
}

// part is a Runner that the Manager runs.
type part struct {
	Runner
	optional bool // it may end
}

// attacher is a controller, of whatever type of keys.
type attacher interface {
	Attach()
	Name() string
}

type check struct {
	name string
	f    func() error
}

// New returns a manager of nothing yet.
func New(o Options) *Manager {
	if o.StopTimeout <= 0 {
		o.StopTimeout = 30 * time.Second
	}
	m := &Manager{o: o, log: o.Logger, busy: make(map[string]int)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m
}

// Add adds what runs always: informers, groups, recorders. Before Run.
func (m *Manager) Add(runners ...Runner) { m.add(&m.always, false, runners) }

// AddLed adds what runs only while this process leads, which is always if there is
// no elector: controllers. Before Run.
func (m *Manager) AddLed(runners ...Runner) { m.add(&m.led, false, runners) }

// AddOptional adds what runs always and may end: the Manager then logs why and goes
// on, and /readyz does not depend on it. Before Run.
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
		*to = append(*to, part{r, optional})
	}
}

// CheckReady adds a condition to /readyz: f returns nil when it holds.
func (m *Manager) CheckReady(name string, f func() error) {
	if f == nil {
		panic("manager: the readiness check " + name + " is nil")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks = append(m.checks, check{name, f})
}

// Run runs everything until ctx ends, a signal comes, the leadership is lost, or one of
// the runners ends by itself, for whatever reason, unless it was added by AddOptional;
// then it stops all and returns the first error. It is nil if ctx or a signal ended it, unless a
// controller waited in vain for an informer that nobody ran. What does not stop in
// StopTimeout is left behind, and named in the error: the process should end then,
// without releasing its lease. Two controllers of one name are an error at once.
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

	if m.o.Elector == nil { // before the caches begin: a deletion found at a warm start is an event
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

// lead runs what only the leader runs, and returns when it has stopped.
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
	err := m.o.Elector.Run(ctx, act)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("leader election ended")
	}
	m.endBy(err, stop)
}

// endBy stops all because the leadership has ended.
func (m *Manager) endBy(err error, stop context.CancelCauseFunc) {
	m.fail(fmt.Errorf("manager: %w", err))
	stop(err)
}

// run runs p; that it ends by itself is the end of all, unless it is optional.
func (m *Manager) run(ctx context.Context, p part, stop context.CancelCauseFunc) {
	name := nameOf(p.Runner)
	m.mu.Lock()
	m.busy[name]++
	m.mu.Unlock()
	named, err := false, errors.New("it called runtime.Goexit") // unless it returns
	defer func() {
		m.mu.Lock()
		if m.busy[name]--; m.busy[name] == 0 {
			delete(m.busy, name)
		}
		m.mu.Unlock()
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())) {
			return
		}
		if err == nil {
			err = errors.New("it ended, though nobody stopped it")
		}
		if p.optional {
			m.log.Error("an optional part has ended", "part", name, "err", err)
			return
		}
		if ctx.Err() == nil {
			m.log.Error("stopping, because a part has ended", "part", name, "err", err)
		} else {
			m.log.Error("a part has failed while it was stopped", "part", name, "err", err)
		}
		if !named {
			err = fmt.Errorf("%s: %w", name, err)
		}
		m.fail(err)
		stop(err)
	}()
	err = p.Run(ctx)
	_, named = p.Runner.(attacher) // a controller's own errors name it
	named = named && err != nil
}

// checkNames fails if two controllers have one name: their logs and metrics could not
// be told apart.
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

// passLogger passes the logger to all that runs.
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

// fail keeps the first error.
func (m *Manager) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

// leave adds to the error what still runs.
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

// Leading reports whether what was added by AddLed runs.
func (m *Manager) Leading() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leading
}

// left names what still runs.
func (m *Manager) left() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name, n := range m.busy {
		if n > 1 {
			name = fmt.Sprintf("%d of %s", n, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nameOf names a runner in messages: "controller foo", "informer of pods in default",
// "shared informers".
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
