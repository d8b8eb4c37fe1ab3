package wait_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/listwatch/listwatch/internal/wait"
)

// several is an error that is not comparable and wraps several.
type several []error

func (s several) Error() string   { return fmt.Sprint([]error(s)) }
func (s several) Unwrap() []error { return s }

func TestEnded(t *testing.T) {
	full := errors.New("the disk is full")
	explain := func(end, reason error) error { return wait.Explain(end, fmt.Errorf("not synced: %w: %w", end, reason)) }
	for name, cause := range map[string]error{"one error": errors.New("over"), "two errors": fmt.Errorf("%w: %w", errors.New("lost"), full), "not comparable": several{full}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if wait.Ended(ctx, context.Canceled) {
			t.Error("it has ended before")
		}
		cancel(cause)
		end := context.Canceled
		for _, tt := range []struct {
			name string
			err  error
			want bool
		}{
			{"none", nil, false},
			{"another", full, false},
			{"Err", end, true},
			{"wrapped", fmt.Errorf("read: %w", end), true},
			{"joined", errors.Join(end, full), false},
			{"joined within", fmt.Errorf("flush: %w", errors.Join(errors.Join(end, full), end)), false},
			{"joined twice", errors.Join(end, fmt.Errorf("read: %w", end)), true},
			{"in one text", fmt.Errorf("%w; flush: %w", end, full), false},
			{"of a type", several{end, full}, false},
			{"of a type, with nil", several{nil, end}, true},
			{"explained", fmt.Errorf("read: %w", explain(end, full)), true},
			{"explained, and joined", errors.Join(explain(end, full), full), false},
			{"explained by the end", explain(full, end), false},
		} {
			if got := wait.Ended(ctx, tt.err); got != tt.want {
				t.Errorf("the cause is %s, the error %s: %v, want %v", name, tt.name, got, tt.want)
			}
		}
		if _, is := cause.(several); is {
			continue // errors.Is finds no such error
		}
		if !wait.Ended(ctx, fmt.Errorf("read: %w", cause)) || !wait.Ended(ctx, errors.Join(cause, end)) {
			t.Errorf("the cause is %s, and so is the error: want the end", name)
		}
	}
}
