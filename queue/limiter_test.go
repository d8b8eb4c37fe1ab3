package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/queue"
)

func TestLimiterGrowsToItsMaximum(t *testing.T) {
	l := queue.NewLimiter[string](queue.Backoff{QPS: -1})
	var last time.Duration
	for range 200 {
		last = l.When("a")
	}
	if last != 1000*time.Second {
		t.Errorf("after 200 failures %s", last)
	}
	if l.When("b") != 5*time.Millisecond || l.NumRequeues("a") != 200 {
		t.Errorf("keys are not apart")
	}
	big := queue.NewLimiter[string](queue.Backoff{QPS: -1, Base: time.Hour, Max: 1<<63 - 1})
	for range 200 {
		if last = big.When("a"); last <= 0 {
			t.Fatalf("it overflowed: %s", last)
		}
	}
}

func TestLimiterLimitsAllKeysTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := queue.NewLimiter[int](queue.Backoff{QPS: 10, Burst: 3})
		var got []time.Duration
		for k := range 6 {
			got = append(got, l.When(k).Round(time.Millisecond))
		}
		ms := time.Millisecond
		if diff := cmp.Diff([]time.Duration{5 * ms, 5 * ms, 5 * ms, 100 * ms, 200 * ms, 300 * ms}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestLimiterOutlivesAKeyThatCannotBeHashed: the panic is the caller's, and leaves no lock.
func TestLimiterOutlivesAKeyThatCannotBeHashed(t *testing.T) {
	q := queue.New(queue.Options[any, string]{})
	for name, f := range map[string]func(any){"AddRateLimited": q.AddRateLimited, "Forget": q.Forget} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f([]int{1})
		}()
		q.AddRateLimited("a")
		if n := q.NumRequeues("a"); n != 1 {
			t.Errorf("after the panic of %s: %d failures of another key, want 1", name, n)
		}
		q.Forget("a")
	}
}

func TestClosedQueueCountsNoFailure(t *testing.T) {
	q := queue.New(queue.Options[string, string]{})
	q.AddRateLimited("a")
	q.Close()
	q.AddRateLimited("a")
	if n := q.NumRequeues("a"); n != 1 {
		t.Errorf("%d failures, want that of before Close", n)
	}
}

// TestQueueOutlivesAKeyThatCannotBeHashed: with many workers Done looks the key up.
func TestQueueOutlivesAKeyThatCannotBeHashed(t *testing.T) {
	for _, workers := range []int{0, 1, 20} {
		q := queue.New(queue.Options[any, string]{})
		for n := range workers {
			q.Add(n)
			if _, err := q.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for name, f := range map[string]func(any){"Add": q.Add, "Done": q.Done} {
			func() {
				defer func() {
					if recover() == nil && name == "Add" {
						t.Errorf("%s: no panic", name)
					}
				}()
				f([]int{1})
			}()
			locked := make(chan struct{})
			go func() {
				defer close(locked)
				q.Add("a")
			}()
			select {
			case <-locked:
			case <-time.After(time.Minute):
				t.Fatalf("%d workers: %s left the lock held", workers, name)
			}
		}
	}
}
