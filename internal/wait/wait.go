// Package wait waits for a time or the end of a context, whichever comes first.
package wait

import (
	"context"
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
