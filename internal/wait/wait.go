// Package wait waits for a time or the end of a context, whichever comes first, and makes
// contexts that a channel ends.
package wait

import (
	"context"
	"sync"
	"time"
)

// For returns nil when d has passed. If ctx has ended by then, it returns the cause, as
// soon as ctx ends.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// Until returns a context that ends with ctx, and with the cause why when end is closed. The
// caller calls stop, which waits for its goroutine.
func Until(ctx context.Context, end <-chan struct{}, why error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-end:
			cancel(why)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		waiting.Wait()
	}
}
