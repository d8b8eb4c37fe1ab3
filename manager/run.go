package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/lease"
)

// Run runs all parts until ctx ends, a signal arrives, the leadership is lost, the
// listener fails, or a part ends by itself, except one of AddOptional; then Run stops all parts
// and returns the first error. It returns nil if ctx or a signal ended it, unless a part failed
// while it was being stopped, or a controller waited for an informer that was never run. Parts that
// do not stop within StopTimeout are named in the error, and so are those that wait for them; all
// still run: the process should then exit, without releasing its lease. Two controllers with one
// name are an error, and so are mutations: see Options.DetectMutations.
func (m *Manager) Run(ctx context.Context) error {
	m.mu.Lock()
	if m.running {
		m.mu.Unlock()
		return errors.New("manager: Run was called before")
	}
	m.running, m.program = true, ctx
	m.mu.Unlock()
	if err := m.checkNames(); err != nil {
		return err
	}
	m.prepare(m.runners()...)
	if e, ok := m.o.Elector.(interface{ SetLogger(*slog.Logger) }); ok && m.o.Logger != nil {
		e.SetLogger(m.o.Logger)
	}

	if m.o.Signals {
		var release func()
		ctx, release = withSignals(ctx)
		defer release()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	below, stopBelow := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopBelow(nil)
	asked, stopAsked := context.WithCancelCause(below)
	defer stopAsked(nil)

	server, err := m.serve(stop)
	if err != nil {
		return err
	}
	defer m.serving.Wait()
	defer server.Close()
	if m.gate != nil {
		defer m.gate.client.CloseIdleConnections()
	}

	if m.o.Elector == nil { // before the caches begin: a deletion found at a start from a snapshot is an event
		for _, r := range m.runners() {
			if c, ok := r.(attacher); ok {
				c.Attach()
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var always, drained sync.WaitGroup
		m.begin(below, ctx, &m.always, stop, &always)
		m.begin(asked, ctx, &m.asked, stop, &drained)
		m.lead(ctx, stop)
		<-ctx.Done()
		stopAsked(context.Cause(ctx))
		drained.Wait()
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
	return m.result()
}

// result returns the error of Run.
func (m *Manager) result() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(m.mutated) == 0:
		return m.err
	case m.err == nil:
		return &MutationError{m.mutated}
	}
	return errors.Join(m.err, &MutationError{m.mutated})
}

// lead runs the parts of AddLed while leading, and returns when they have stopped.
func (m *Manager) lead(ctx context.Context, stop context.CancelCauseFunc) {
	select {
	case <-m.wanted:
	case <-ctx.Done():
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
		m.begin(leading, ctx, &m.led, stop, &led)
		led.Wait()
		return nil
	}
	if m.o.Elector == nil {
		_ = act(ctx, lease.Token{})
		return
	}
	electing := m.enter(ctx, "leader election")
	err := m.o.Elector.Run(ctx, func(leading context.Context, t lease.Token) error {
		electing() // until act returns, the elector waits for its parts
		defer func() { electing = m.enter(ctx, "leader election") }()
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

// endBy stops all parts because of err, which is not that of a part.
func (m *Manager) endBy(err error, stop context.CancelCauseFunc) {
	m.fail(fmt.Errorf("manager: %w", err))
	stop(err)
}

// run runs p until ctx ends. If p ends by itself, all parts are stopped, unless it is
// optional. all is the context that stop ends: p may end with it, before ctx does.
func (m *Manager) run(ctx, all context.Context, p *part, stop context.CancelCauseFunc) {
	defer close(p.done)
	name := nameOf(p.Runner)
	ctx, end := wait.Until(ctx, p.removed, errRemoved)
	defer end()
	defer m.enter(ctx, name)()
	named, err := false, errors.New("it panicked or called runtime.Goexit") // unless it returns
	defer func() {
		// The program's ends before those that are made of it.
		for _, over := range []context.Context{ctx, all, m.program} {
			if over.Err() != nil && (err == nil || wait.Ended(over, err)) {
				return
			}
		}
		if err == nil {
			err = errors.New("it ended without being stopped")
		}
		if errors.Is(context.Cause(ctx), errRemoved) {
			m.log.Error("a part failed while it was removed", "part", name, "err", err)
			p.err = err
			return
		}
		if p.optional {
			m.log.Error("an optional part ended", "part", name, "err", err)
			return
		}
		if ctx.Err() == nil {
			m.log.Error("stopping, because a part ended", "part", name, "err", err)
		} else {
			m.log.Error("a part failed while it was stopped", "part", name, "err", err)
			if all.Err() == nil { // because the leadership is lost: that is the first error
				m.endBy(context.Cause(ctx), stop)
			}
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

var errRemoved = errors.New("the part was removed")

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
	err := fmt.Errorf("not stopped in %s: %s", m.o.StopTimeout, m.left())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = fmt.Errorf("manager: %w", err)
		return
	}
	m.err = fmt.Errorf("%w; %w", m.err, err)
}
