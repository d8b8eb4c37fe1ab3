package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
)

func TestFor(t *testing.T) {
	cause := errors.New("enough")
	for name, tt := range map[string]struct {
		d      time.Duration
		end    time.Duration // of the context; negative = before the call
		want   error
		passed time.Duration
	}{
		"the time passes":              {time.Minute, time.Hour, nil, time.Minute},
		"the context ends first":       {time.Hour, time.Minute, cause, time.Minute},
		"the context has ended":        {time.Hour, -1, cause, 0},
		"no time, the context is live": {0, time.Hour, nil, 0},
		"no time, the context ended":   {-1, -1, cause, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if tt.end < 0 {
					cancel(cause)
				} else {
					time.AfterFunc(tt.end, func() { cancel(cause) })
				}
				began := time.Now()
				err := wait.For(ctx, tt.d)
				if passed := time.Since(began); !errors.Is(err, tt.want) || passed != tt.passed {
					t.Errorf("returned %v after %v, want %v after %v", err, passed, tt.want, tt.passed)
				}
				cancel(nil)
			})
		})
	}
}

func TestUntil(t *testing.T) {
	over, why := errors.New("over"), errors.New("removed")
	for name, tt := range map[string]struct {
		end  func(cancel func(error), end chan struct{}, stop func())
		want error
	}{
		"the context": {func(cancel func(error), _ chan struct{}, _ func()) { cancel(over) }, over},
		"the channel": {func(_ func(error), end chan struct{}, _ func()) { close(end) }, why},
		"stop":        {func(_ func(error), _ chan struct{}, stop func()) { stop() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				end := make(chan struct{})
				until, stop := wait.Until(ctx, end, why)
				synctest.Wait()
				if until.Err() != nil {
					t.Error("it has ended before")
				}
				tt.end(cancel, end, stop)
				synctest.Wait()
				if err := context.Cause(until); err != tt.want {
					t.Errorf("the cause is %v, want %v", err, tt.want)
				}
				stop()
			})
		})
	}
}
