package lease_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestRingCheckFailsWhenTheWorkGoesOnThoughAnotherMayOwnItsSlots, and not before.
func TestRingCheckFailsWhenTheWorkGoesOnThoughAnotherMayOwnItsSlots(t *testing.T) {
	refused := errors.New("the share is refused")
	for _, tt := range []struct {
		name  string
		lose  func(c *circle, stop context.CancelFunc)
		fails error         // of apply when its ctx ends
		good  time.Duration // Check succeeds so long
		bad   time.Duration // Check fails from then on
		want  error
	}{
		{"the server refuses", func(c *circle, _ context.CancelFunc) {
			c.srv.On(apitest.Match{Verb: "list"}, faults.HTML(http.StatusForbidden))
		}, nil, 12 * time.Second, 15 * time.Second, lease.ErrLost},
		{"the table is deleted", func(c *circle, _ context.CancelFunc) {
			c.srv.Delete(kube.Leases, orders)
		}, nil, 0, 3 * time.Second, lease.ErrLost},
		// Leases are renewed for RenewDeadline after the stop.
		{"a stop", func(_ *circle, stop context.CancelFunc) { stop() }, nil, 22 * time.Second, 25 * time.Second, lease.ErrLost},
		{"an error of apply", func(c *circle, _ context.CancelFunc) {
			c.srv.On(apitest.Match{Verb: "list"}, faults.HTML(http.StatusForbidden))
		}, refused, 12 * time.Second, 15 * time.Second, lease.ErrLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCircle(t)
				r, _ := c.ring(lease.Options{TakeMissing: true})
				ctx, stop := context.WithCancel(t.Context())
				end, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					_ = r.Run(ctx, func(ctx context.Context, s lease.Share) error {
						if s.Len() == 0 || ctx.Err() != nil {
							<-end
						}
						<-ctx.Done()
						<-end
						return tt.fails
					})
				}()
				pass(5 * time.Second)
				tt.lose(c, stop)
				for range tt.good / time.Second {
					if err := r.Check(); err != nil {
						t.Fatal(err)
					}
					pass(time.Second)
				}
				pass(tt.bad - tt.good)
				if err := r.Check(); !errors.Is(err, tt.want) {
					t.Errorf("after %s: %v", tt.bad, err)
				}
				stop()
				close(end)
				<-done
				if err := r.Check(); err != nil {
					t.Errorf("after the end: %v", err)
				}
			})
		})
	}
}

// TestRingEndsWithAFunctionThatCallsGoexit: its slots run out, like those of one that fails.
func TestRingEndsWithAFunctionThatCallsGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		r, _ := c.ring(lease.Options{TakeMissing: true})
		err := r.Run(t.Context(), func(context.Context, lease.Share) error {
			runtime.Goexit()
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "runtime.Goexit") {
			t.Errorf("%v", err)
		}
	})
}

// TestRingAppliesOneShareAtATime: the slots are lost while apply is at work, which does not
// look at its ctx.
func TestRingAppliesOneShareAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		ring, _ := c.ring(lease.Options{TakeMissing: true})
		ctx, cancel := context.WithCancel(t.Context())
		busy, calls := false, 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = ring.Run(ctx, func(_ context.Context, s lease.Share) error {
				if busy {
					t.Errorf("apply is called with %d slots while it runs", s.Len())
				}
				busy = true
				defer func() { busy = false }()
				if calls++; s.Len() > 0 {
					<-time.After(time.Minute)
				}
				return nil
			})
		}()
		pass(5 * time.Second)
		c.srv.On(apitest.Match{}, faults.Reset())
		pass(2 * time.Minute)
		cancel()
		<-done
		if calls != 2 {
			t.Errorf("apply was called %d times, want 2", calls)
		}
	})
}
