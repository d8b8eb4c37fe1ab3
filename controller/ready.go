package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/internal/wait"
)

// waitForInputs waits until every cache is filled and up to date. Its error says why
// that failed, and names the input.
func (c *Controller[K]) waitForInputs(ctx context.Context) error {
	for _, in := range c.wiredInputs() {
		if err := c.waitForInput(ctx, in); err != nil && !in.isRemoved() {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = nil
	return nil
}

// waitForInput waits until the cache of an attached input is filled and up to date, or the
// input is removed.
func (c *Controller[K]) waitForInput(ctx context.Context, in *input) error {
	ctx, stop := wait.Until(ctx, in.removed, errRemoved)
	defer stop()
	if err := c.waitFor(ctx, in, in.wait, patience, patience); err != nil {
		return err
	}
	c.mu.Lock()
	current := in.current
	c.mu.Unlock()
	return c.waitFor(ctx, in, current, patience, maxPatience)
}

// patience is the time after which a controller reports that it waits for a cache, and
// maxPatience limits its growth while the cache asks the server.
const (
	patience    = 10 * time.Second
	maxPatience = 5 * time.Minute
)

// waitFor calls ready with a limited time until it returns nil. It doubles the time
// after each timeout, up to longest.
func (c *Controller[K]) waitFor(ctx context.Context, in *input, ready func(context.Context) error, limit, longest time.Duration) error {
	for waited := false; ; limit, waited = min(2*limit, longest), true {
		limited, cancel := context.WithTimeoutCause(ctx, limit, tooLong(limit))
		err := ready(limited)
		cancel()
		if err == nil {
			if waited {
				c.log.Info("the cache is filled", "input", in.name)
			}
			return nil
		}
		c.mu.Lock()
		if !in.late {
			c.why = err
		}
		c.mu.Unlock()
		switch {
		case waited && errors.Is(err, cache.ErrNotRunning) && ctx.Err() != nil:
			return fmt.Errorf("%w; add the informer of %s to the Manager, or run it", errForgotten, in.name)
		case ctx.Err() != nil || !errors.As(err, new(tooLong)):
			return err
		case !waited: // once: the informer logs later changes
			c.log.Warn("waiting for a cache", "input", in.name, "err", err)
		}
		for _, t := range c.traces {
			if t.Waiting != nil {
				c.guard("Trace.Waiting", func() { t.Waiting(in.name, err) }, "input", in.name)
			}
		}
	}
}

var errForgotten = errors.New("no work was done: an informer was never run")

// tooLong is the cause of a wait that timed out.
type tooLong time.Duration

func (t tooLong) Error() string { return "after " + time.Duration(t).String() }

// Ready returns nil while the controller works and its inputs are ready, otherwise the
// reason. Inputs that were added after Run began do not count. The error does not name
// the controller. Ready is for readiness probes.
func (c *Controller[K]) Ready() error {
	if err := c.begun(); err != nil {
		return err
	}
	for _, in := range c.wiredInputs() {
		if err := in.ready(); err != nil {
			return fmt.Errorf("cache of %s: %w", in.name, err)
		}
	}
	return nil
}

// begun returns nil while the controller works.
func (c *Controller[K]) begun() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state {
	case wired:
		return errors.New("has not begun")
	case ended:
		return errors.New("has ended")
	case syncing:
		if c.why != nil {
			return fmt.Errorf("waits: %w", c.why)
		}
		return errors.New("waits for its caches")
	}
	return nil
}
