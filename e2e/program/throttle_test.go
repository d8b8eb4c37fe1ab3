package program_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// throttle lets the writes of a load through in portions, so that each fault
// comes where the test wants it, however fast the machine is. Reads and failed
// writes do not count.
type throttle struct {
	next http.RoundTripper

	mu      sync.Mutex
	allowed int // negative: any number
	flying  int
	done    int
	changed chan struct{} // closed and replaced at each change
}

func newThrottle(next http.RoundTripper) *throttle {
	return &throttle{next: next, changed: make(chan struct{})}
}

func (t *throttle) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return t.next.RoundTrip(req)
	}
	err := t.when(req.Context(), func() bool {
		if t.allowed >= 0 && t.done+t.flying >= t.allowed {
			return false
		}
		t.flying++
		return true
	})
	if err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(req)
	t.change(func() {
		t.flying--
		if err == nil && resp.StatusCode < 300 {
			t.done++
		}
	})
	return resp, err
}

func (t *throttle) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// when waits until cond, called under the lock, holds.
func (t *throttle) when(ctx context.Context, cond func() bool) error {
	for {
		t.mu.Lock()
		held, changed := cond(), t.changed
		t.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// allow lets n more writes through.
func (t *throttle) allow(n int) { t.change(func() { t.allowed += n }) }

// release lets everything through from now on.
func (t *throttle) release() { t.change(func() { t.allowed = -1 }) }

// progress waits until at most left of the allowed writes are still to come.
func (t *throttle) progress(ctx context.Context, left int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, setup.Patience, fmt.Errorf("no progress of the load within %s", setup.Patience))
	defer cancel()
	return t.when(ctx, func() bool { return t.done >= t.allowed-left })
}
