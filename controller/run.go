package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// work runs the Func with one key and sees to what comes after it.
func (c *Controller[K]) work(ctx context.Context, item Item[K], waits *sync.WaitGroup) {
	run := Run[K]{Item: item, Attempt: c.queue.NumRequeues(item.Key), Start: time.Now()}
	run.Result, run.Err = c.call(ctx, item.Key)
	run.Duration = time.Since(run.Start)
	c.runs.Add(1)
	c.settle(ctx, run)
	for _, t := range c.traces {
		if t.Ran != nil {
			t.Ran(run)
		}
	}
	if pending := c.takeAwaited(item.Key); len(pending) > 0 && ctx.Err() == nil {
		waits.Go(func() { // the key stays taken meanwhile
			defer c.queue.Done(item.Key)
			c.await(ctx, item.Key, pending)
		})
		return
	}
	c.queue.Done(item.Key)
}

// call calls the Func, in time, and survives its panic.
func (c *Controller[K]) call(ctx context.Context, k K) (_ Result, err error) {
	if c.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("the run took longer than %s", c.o.Timeout))
		defer cancel()
	}
	defer func() {
		if v := recover(); v != nil {
			c.panics.Add(1)
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return c.f(ctx, k)
}

// settle decides when the key comes again.
func (c *Controller[K]) settle(ctx context.Context, run Run[K]) {
	k, err := run.Key, run.Err
	again := Add{Priority: run.Priority}
	if p := run.Result.Priority; p != nil {
		again.Priority = *p
	}
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return // it was told to stop
	case err != nil:
		c.failures.Add(1)
		c.logFailure(run)
		if isPermanent(err) || c.o.MaxRetries != 0 && run.Attempt >= c.o.MaxRetries {
			c.queue.Forget(k)
			c.gaveUp.Add(1)
			if c.o.GaveUp != nil {
				c.o.GaveUp(k, err)
			}
			return
		}
		again.RateLimited, again.Cause = true, Cause{Input: "error"}
		if st := (*kube.Status)(nil); errors.As(err, &st) {
			again.After = st.RetryAfter
		}
		c.queue.AddWith(k, again)
	case run.Result.RequeueAfter > 0:
		c.queue.Forget(k)
		again.After, again.Cause = run.Result.RequeueAfter, Cause{Input: "after"}
		c.queue.AddWith(k, again)
	case run.Result.Requeue:
		again.RateLimited, again.Cause = true, Cause{Input: "requeue"}
		c.queue.AddWith(k, again)
	default:
		c.queue.Forget(k)
	}
}

func (c *Controller[K]) logFailure(run Run[K]) {
	level := slog.LevelWarn
	if errors.Is(run.Err, kube.ErrConflict) {
		level = slog.LevelDebug // somebody else was faster: the retry sees what they did
	}
	attrs := []any{"key", fmt.Sprint(run.Key), "attempt", run.Attempt, "cause", run.Cause.Input, "rev", run.Cause.Revision, "err", run.Err}
	if p := (*PanicError)(nil); errors.As(run.Err, &p) {
		attrs = append(attrs, "stack", string(p.Stack))
	}
	c.log.Log(context.Background(), level, "the run failed", attrs...)
}
