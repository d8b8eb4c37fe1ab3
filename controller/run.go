package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/queue"
)

// worker runs the Func with one key after the other until ctx ends. runs is the context
// of the runs, which may end later. If a Func ends its goroutine, another worker
// replaces this one.
func (c *Controller[K]) worker(ctx, runs context.Context, workers, waits *sync.WaitGroup) {
	over := false
	defer func() {
		if !over {
			workers.Go(func() { c.worker(ctx, runs, workers, waits) })
		}
	}()
	for {
		item, err := c.queue.Get(ctx)
		if err != nil {
			over = true
			return
		}
		c.work(runs, item, waits)
	}
}

// work runs the Func with one key and schedules the next run.
func (c *Controller[K]) work(ctx context.Context, item queue.Item[K, Cause], waits *sync.WaitGroup) {
	c.active.Add(1)
	defer c.active.Add(-1)
	run := Run[K]{Item: item, Attempt: c.failedInARow(item.Key), Start: time.Now()}
	defer func() { // also if the Func ends the goroutine
		defer c.release(ctx, item.Key, waits)
		run.Duration = time.Since(run.Start)
		c.runs.Add(1)
		v := c.judge(ctx, &run)
		c.settle(run, v)
		for _, t := range c.traces {
			if t.Ran != nil {
				c.guard("Trace.Ran", func() { t.Ran(run) }, "key", fmt.Sprint(item.Key))
			}
		}
	}()
	c.call(ctx, &run)
}

// release returns the key to the queue: now, or when the caches show the writes of the
// run.
func (c *Controller[K]) release(ctx context.Context, k K, waits *sync.WaitGroup) {
	pending := c.takeAwaited(k)
	if len(pending) == 0 || ctx.Err() != nil {
		c.queue.Done(k)
		return
	}
	waits.Go(func() { // the key stays with the worker meanwhile
		defer c.queue.Done(k)
		c.guard("Await", func() { c.await(ctx, k, pending) }, "key", fmt.Sprint(k))
	})
}

// errGoexit is the value of the PanicError of a Func that ended its goroutine.
var errGoexit = errors.New("the function called runtime.Goexit")

// call calls the Func with its timeout, and stores its result or panic.
func (c *Controller[K]) call(ctx context.Context, run *Run[K]) {
	if c.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("the run took longer than %s", c.o.Timeout))
		defer cancel()
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = errGoexit
		}
		c.panics.Add(1)
		run.Err = &PanicError{Value: v, Stack: debug.Stack()}
	}()
	run.Result, run.Err = c.f(ctx, run.Key)
	returned = true
}

// failedInARow returns the number of consecutive failed runs of k.
func (c *Controller[K]) failedInARow(k K) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failing[k]
}

// countFailures stores the number of consecutive failed runs of k.
func (c *Controller[K]) countFailures(k K, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n == 0 {
		delete(c.failing, k)
		return
	}
	c.failing[k] = n
}

// maxRetryAfter limits the pause that a server may request.
const maxRetryAfter = 2 * time.Minute

// verdict is what the error of a run means.
type verdict struct {
	permanent bool
	conflict  bool          // somebody else has written, and nothing else: the retry sees that
	after     time.Duration // the pause that a server requests, limited
	attrs     []any         // for the log
}

// judge reads the error of a run, whose methods may panic: that is then the error of the run.
func (c *Controller[K]) judge(ctx context.Context, run *Run[K]) (v verdict) {
	err := run.Err
	if err == nil {
		return verdict{}
	}
	defer func() {
		if p := recover(); p != nil {
			c.panics.Add(1)
			run.Err = &PanicError{Value: fmt.Sprintf("a method of the error, a %T: %v", err, p), Stack: debug.Stack()}
			v = c.judge(ctx, run)
		}
	}()
	_ = err.Error() // a handler of the log need not survive it
	run.Stopped = wait.Ended(ctx, err)
	v.permanent, v.conflict = isPermanent(err), onlyConflicts(err)
	v.after = min(retryAfter(err), maxRetryAfter)
	if p := (*PanicError)(nil); errors.As(err, &p) {
		v.attrs = append(v.attrs, "stack", string(p.Stack))
	}
	if st := (*kube.Status)(nil); errors.As(err, &st) && st != nil && st.Code >= 500 && st.AuditID != "" {
		v.attrs = append(v.attrs, "audit", st.AuditID) // the logs of the server have details
	}
	return v
}

// settle schedules the next run of the key.
func (c *Controller[K]) settle(run Run[K], v verdict) {
	k, err := run.Key, run.Err
	again := queue.Add[Cause]{Priority: run.Priority}
	if p := run.Result.Priority; p != nil {
		again.Priority = *p
	}
	failures := 0
	defer func() { c.countFailures(k, failures) }()
	switch {
	case run.Stopped:
		return // the next leader begins with all objects
	case err != nil:
		c.failures.Add(1)
		c.logFailure(run, v)
		if v.permanent || c.o.MaxRetries != 0 && run.Attempt >= c.o.MaxRetries {
			c.queue.Forget(k)
			c.gaveUp.Add(1)
			if c.o.GaveUp != nil {
				c.guard("GaveUp", func() { c.o.GaveUp(k, err) }, "key", fmt.Sprint(k))
			}
			return
		}
		failures = run.Attempt + 1
		again.RateLimited, again.Cause = true, Cause{Input: "error"}
		again.After = v.after
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

// retryAfter returns the longest pause that a server requests by an error.
func retryAfter(err error) (longest time.Duration) {
	switch e := err.(type) {
	case nil:
		return 0
	case *kube.Status:
		if e == nil {
			return 0
		}
		return e.RetryAfter
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			longest = max(longest, retryAfter(one))
		}
		return longest
	}
	return retryAfter(errors.Unwrap(err))
}

// onlyConflicts reports whether an error says that somebody else has written, and nothing else.
func onlyConflicts(err error) bool {
	if !errors.Is(err, kube.ErrConflict) {
		return false
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if many, ok := e.(interface{ Unwrap() []error }); ok {
			return !slices.ContainsFunc(many.Unwrap(), func(one error) bool { return !onlyConflicts(one) })
		}
	}
	return true
}

// guard calls f, a hook of the program. A panic of it is logged and counted like one of
// the Func.
func (c *Controller[K]) guard(hook string, f func(), attrs ...any) {
	defer func() {
		if v := recover(); v != nil {
			c.panics.Add(1)
			p := &PanicError{Value: v, Stack: debug.Stack()}
			c.log.Error("a hook panicked", append(attrs, "hook", hook, "err", p, "stack", string(p.Stack))...)
		}
	}()
	f()
}

// usual is how many conflicts in a row are usual: other writers explain no more of them.
const usual = 5

func (c *Controller[K]) logFailure(run Run[K], v verdict) {
	level := slog.LevelWarn
	if v.conflict && run.Attempt < usual && !v.permanent {
		level = slog.LevelDebug
	}
	attrs := []any{"key", fmt.Sprint(run.Key), "attempt", run.Attempt, "cause", run.Cause.Input, "rev", run.Cause.Revision, "err", run.Err}
	c.log.Log(context.Background(), level, "the run failed", append(attrs, v.attrs...)...)
}
