package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/lease"
)

// TestRingEndsWithAnErrorOfApply, also with one of a call that began before the slots were lost,
// or because of that, but not with the end of its ctx.
func TestRingEndsWithAnErrorOfApply(t *testing.T) {
	full := errors.New("the disk is full")
	foreign, other := fmt.Errorf("another elector: %w", lease.ErrLost), fmt.Errorf("another context: %w", context.Canceled)
	always := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	waits := func(f func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); return f(ctx) }
	}
	slow := func(context.Context) error { pass(30 * time.Second); return full } // longer than a member leaves
	nothing, ended := always(nil), func(ctx context.Context) error { return ctx.Err() }
	joined := func(ctx context.Context) error { return errors.Join(context.Cause(ctx), full) }
	for _, tt := range []struct {
		name       string
		some, none func(context.Context) error // apply of some slots, of none
		stop       bool                        // instead of a loss of the slots
		want       error                       // of Run; nil = the end of its ctx
	}{
		{"with slots", always(full), nothing, false, full},
		{"with slots, ErrLost of another", always(foreign), nothing, false, foreign},
		{"shortly before the loss, the end of another context", func(context.Context) error { pass(15500 * time.Millisecond); return other }, nothing, false, other},
		{"under way at the loss", waits(always(full)), nothing, false, full},
		{"under way at the loss, with the cause", waits(joined), nothing, false, full},
		{"under way at the loss, ErrLost of another", waits(always(foreign)), nothing, false, foreign},
		{"after the loss", nothing, always(full), false, full},
		{"after the loss, with the cause", nothing, joined, false, full},
		{"under way at the stop", slow, nothing, true, full},
		{"at the stop", nothing, always(full), true, full},
		{"at the stop, ErrLost of another", nothing, always(foreign), true, foreign},
		{"only the end", waits(ended), waits(context.Cause), false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCircle(t)
				r, _ := c.ring(lease.Options{TakeMissing: true})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				over, done := errors.New("Run has not returned"), make(chan struct{})
				go func() {
					defer close(done)
					over = r.Run(ctx, func(ctx context.Context, s lease.Share) error {
						if s.Len() == 0 {
							return tt.none(ctx)
						}
						return tt.some(ctx)
					})
				}()
				pass(10 * time.Second)
				if tt.stop {
					stop()
				} else {
					c.srv.On(apitest.Match{}, faults.Hang())
				}
				pass(time.Minute)
				if tt.want == nil {
					tt.want = context.Canceled
					stop()
					pass(10 * time.Second)
				}
				synctest.Wait()
				select {
				case <-done:
					if !errors.Is(over, tt.want) {
						t.Errorf("Run: %v, want %v", over, tt.want)
					}
				default:
					t.Error("Run has not returned")
					stop()
					<-done
				}
			})
		})
	}
}
