package watch

import (
	"context"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
)

// Retry is for callers that know from elsewhere that the server can be reached again. If the last
// request did not reach the server, Retry shortens the pause before the next one to a random time
// of at most Options.Backoff. Otherwise it does nothing: a pause that the server requested is kept.
func (w *Watcher[T]) Retry() {
	select {
	case w.retry <- struct{}{}:
	default:
	}
}

// forgetRetry forgets calls of Retry that were made before the last request ended.
func (w *Watcher[T]) forgetRetry() {
	select {
	case <-w.retry:
	default:
	}
}

// await waits before the next request of s, and returns how long. See Watcher.Retry.
func (p protocol) await(ctx context.Context, s *state, retry <-chan struct{}) (time.Duration, error) {
	if s.wait <= 0 || !s.away {
		return s.wait, wait.For(ctx, s.wait)
	}
	began := time.Now()
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-retry:
		_ = wait.For(ctx, min(part(p.opts.Backoff, p.rnd()), s.wait-time.Since(began)))
	}
	return time.Since(began), context.Cause(ctx)
}
