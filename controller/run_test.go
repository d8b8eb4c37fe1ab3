package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// Runs that succeed and ask for another one do not count as failures: neither in
// Attempt nor toward MaxRetries.
func TestRequeueIsNoFailure(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		results := strings.Split("requeue requeue requeue requeue requeue error error error requeue error error error error", " ")
		var got []string
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			what := results[0]
			results = results[1:]
			if what == "requeue" {
				return controller.Result{Requeue: true}, nil
			}
			return controller.Result{}, errBroken
		}, controller.Options[kube.Key]{
			MaxRetries: 3,
			GaveUp:     func(kube.Key, error) { got = append(got, "gave up") },
			Trace: controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) {
				got = append(got, fmt.Sprint(r.Attempt, " ", r.Err))
			}},
		})
		controller.For(c, w.maps)
		stop := w.run(t, c)
		<-time.After(time.Hour)
		_ = stop()
		want := []string{
			"0 <nil>", "0 <nil>", "0 <nil>", "0 <nil>", "0 <nil>", "0 broken", "1 broken", "2 broken", "3 <nil>",
			"0 broken", "1 broken", "2 broken", "gave up", "3 broken",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

// A conflict that no retry ends is not hidden at the level of the usual ones.
func TestConflictsThatStayAreLogged(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		var lines strings.Builder
		runs := 0
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			if runs++; runs > 7 {
				return controller.Result{}, controller.Permanent(kube.ErrConflict)
			}
			return controller.Result{}, kube.ErrConflict
		}, controller.Options[kube.Key]{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		controller.For(c, w.maps)
		stop := w.run(t, c)
		<-time.After(time.Hour)
		_ = stop()
		if n := strings.Count(lines.String(), "level=WARN"); runs != 8 || n != 3 {
			t.Errorf("%d runs, %d warnings, want 8 and 3:\n%s", runs, n, lines.String())
		}
	})
}

// badError is an error one of whose methods panics.
type badError string

func (e badError) panicIn(method string) {
	if string(e) == method {
		panic(errBroken)
	}
}

func (e badError) Error() string   { e.panicIn("Error"); return "bad" }
func (e badError) Is(error) bool   { e.panicIn("Is"); return false }
func (e badError) As(any) bool     { e.panicIn("As"); return false }
func (e badError) Unwrap() []error { e.panicIn("Unwrap"); return nil }

// TestErrorThatPanicsIsRetried: when its methods are called, the run has ended.
func TestErrorThatPanicsIsRetried(t *testing.T) {
	for name, f := range map[string]func() error{
		"a nil Status":     func() error { return (*kube.Status)(nil) },
		"a nil PanicError": func() error { return (*controller.PanicError)(nil) },
		"Error":            func() error { return badError("Error") },
		"Is":               func() error { return badError("Is") },
		"As":               func() error { return badError("As") },
		"Unwrap":           func() error { return badError("Unwrap") },
		"wrapped":          func() error { return fmt.Errorf("write: %w", badError("Is")) },
		"of a panic":       func() error { panic(badError("Is")) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				w.put("x", "1")
				runs, panics, log := 0, uint64(0), &strings.Builder{}
				c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
					if runs++; runs > 2 {
						return controller.Result{}, nil
					}
					return controller.Result{}, f()
				}, controller.Options[kube.Key]{
					Logger: slog.New(slog.NewTextHandler(log, nil)),
					Trace: controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) {
						if p := (*controller.PanicError)(nil); errors.As(r.Err, &p) {
							panics++
						}
					}},
				})
				controller.For(c, w.maps)
				stop := w.run(t, c)
				<-time.After(time.Minute)
				_ = stop()
				s := c.Stats()
				if want := strings.Count(log.String(), "stack="); runs != 3 || s.Failures != 2 || panics != uint64(want) || name != "a nil Status" && want != 2 {
					t.Errorf("%d runs, %d failures, %d panics, log:\n%s", runs, s.Failures, panics, log)
				}
			})
		})
	}
}

// A conflict that is joined with another failure does not hide it, nor what a server requests.
func TestErrorsThatAreJoined(t *testing.T) {
	throttled := &kube.Status{Code: 429, RetryAfter: 40 * time.Second}
	gone := &kube.Status{Code: 404, Reason: "NotFound"}
	for _, c := range []struct {
		err      error
		after    time.Duration
		warnings int
	}{
		{errors.Join(throttled, gone), 40 * time.Second, 1},
		{errors.Join(gone, throttled), 40 * time.Second, 1},
		{fmt.Errorf("children: %w", errors.Join(kube.ErrConflict, fmt.Errorf("write: %w", throttled))), 40 * time.Second, 1},
		{errors.Join(kube.ErrConflict, errors.New("db down")), 0, 1},
		{errors.Join(kube.ErrConflict, fmt.Errorf("update: %w", kube.ErrConflict)), 0, 0},
		{fmt.Errorf("update: %w", kube.ErrConflict), 0, 0},
	} {
		run(t, func(t *testing.T, w *world) {
			w.put("x", "1")
			var lines strings.Builder
			var at []time.Time
			ctl := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
				if at = append(at, time.Now()); len(at) > 1 {
					return controller.Result{}, nil
				}
				return controller.Result{}, c.err
			}, controller.Options[kube.Key]{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
			controller.For(ctl, w.maps)
			stop := w.run(t, ctl)
			<-time.After(time.Hour)
			_ = stop()
			if n := strings.Count(lines.String(), "level=WARN"); len(at) != 2 || at[1].Sub(at[0]) < c.after || n != c.warnings {
				t.Errorf("%v: runs at %v, %d warnings, want one after %v and %d", c.err, at, n, c.after, c.warnings)
			}
		})
	}
}

// What a Func panics with does not say whether it is retried.
func TestPanicWithAPermanentError(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		runs := 0
		c := controller.New("maps", func(context.Context, kube.Key) (controller.Result, error) {
			if runs++; runs == 1 {
				panic(controller.Permanent(errors.New("broken")))
			}
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		stop := w.run(t, c)
		<-time.After(time.Minute)
		if _ = stop(); runs != 2 {
			t.Errorf("%d runs, want 2", runs)
		}
	})
}

// A function that ends its goroutine, as t.FailNow does, fails like one that
// panics: the key is retried, and the controller keeps all its workers.
func TestControllerSurvivesGoexit(t *testing.T) {
	for _, workers := range []int{1, 3} {
		run(t, func(t *testing.T, w *world) {
			w.put("x", "1")
			w.put("y", "1")
			var runs atomic.Int64
			var mu sync.Mutex
			var failed error
			c := controller.New("maps", func(_ context.Context, k kube.Key) (controller.Result, error) {
				if runs.Add(1) <= 5 {
					runtime.Goexit()
				}
				w.note("%s", k.Name)
				return controller.Result{}, nil
			}, controller.Options[kube.Key]{Workers: workers, Trace: controller.Trace[kube.Key]{Ran: func(r controller.Run[kube.Key]) {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, r.Err)
			}}})
			controller.For(c, w.maps)
			stop := w.run(t, c)
			<-time.After(time.Minute)
			if got := w.notes(); len(got) != 2 {
				t.Errorf("%d workers: runs that ended well: %q", workers, got)
			}
			w.put("x", "2")
			wantNotes(t, w, "x")
			var p *controller.PanicError
			if !errors.As(failed, &p) || !strings.Contains(failed.Error(), "runtime.Goexit") || !strings.Contains(string(p.Stack), "TestControllerSurvivesGoexit") {
				t.Errorf("errors %v", failed)
			}
			if s := c.Stats(); s.Panics != 5 || s.Failures != 5 || s.Queue.Running != 0 {
				t.Errorf("stats %+v", s)
			}
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

// throttledOnce returns a Func whose first run fails with RetryAfter, and which notes when runs
// begin.
func throttledOnce(began *[]time.Time, after time.Duration) func(context.Context, kube.Key) (controller.Result, error) {
	return func(context.Context, kube.Key) (controller.Result, error) {
		if *began = append(*began, time.Now()); len(*began) > 1 {
			return controller.Result{}, nil
		}
		return controller.Result{}, fmt.Errorf("write: %w", &kube.Status{Code: 429, RetryAfter: after})
	}
}

// TestControllerFollowsRetryAfter, but no server or proxy puts a key off for hours.
func TestControllerFollowsRetryAfter(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{0: 5 * time.Millisecond, 30 * time.Second: 30 * time.Second, 24 * time.Hour: 2 * time.Minute} {
		run(t, func(t *testing.T, w *world) {
			w.put("x", "1")
			var began []time.Time
			c := controller.New("maps", throttledOnce(&began, asked), controller.Options[kube.Key]{})
			controller.For(c, w.maps)
			stop := w.run(t, c)
			<-time.After(3 * time.Minute)
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if len(began) != 2 || began[1].Sub(began[0]) != want {
				t.Errorf("a server that asks for %s: runs at %v, want a second one after %s", asked, began, want)
			}
		})
	}
}

// TestControllerRunsBeforeRetryAfter if something changes: what failed may succeed then.
func TestControllerRunsBeforeRetryAfter(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.put("x", "1")
		var began []time.Time
		c := controller.New("maps", throttledOnce(&began, time.Minute), controller.Options[kube.Key]{})
		controller.For(c, w.maps)
		stop := w.run(t, c)
		<-time.After(10 * time.Second)
		w.put("x", "2")
		<-time.After(3 * time.Minute)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if len(began) != 2 || began[1].Sub(began[0]) > 11*time.Second {
			t.Errorf("runs at %v, want a second one after 10s", began)
		}
	})
}
