package queue_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/queue"
)

// low is a priority below that of most keys.
const low = -100

func newQueue(t *testing.T) *queue.Queue[string, string] {
	q := queue.New(queue.Options[string, string]{})
	t.Cleanup(q.Close)
	return q
}

// get returns the next key of a queue that has one.
func get(t *testing.T, q *queue.Queue[string, string]) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	item, err := q.Get(ctx)
	if err != nil {
		t.Fatalf("there is no key: %v", err)
	}
	return item.Key
}

// none fails if the queue has a key to give.
func none(t *testing.T, q *queue.Queue[string, string]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if item, err := q.Get(ctx); err == nil {
		t.Fatalf("there is a key, %q", item.Key)
	}
}

func TestQueueKeepsAKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for _, k := range []string{"a", "b", "a", "a", "c"} {
			q.Add(k)
		}
		if q.Len() != 3 {
			t.Errorf("%d keys", q.Len())
		}
		for _, want := range []string{"a", "b", "c"} {
			if got := get(t, q); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		none(t, q)
	})
}

func TestQueueRunsAKeyAgainOnceThatWasAddedInMidRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		get(t, q)
		for range 3 {
			q.Add("a")
		}
		none(t, q) // never on two workers
		q.Add("b")
		q.Done("a")
		for _, want := range []string{"b", "a"} { // behind what was there
			if got := get(t, q); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			q.Done(want)
		}
		none(t, q)
	})
}

func TestQueueDoneOfWhatNobodyHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		q.Done("a")
		q.Done("b")
		if got := get(t, q); got != "a" {
			t.Errorf("got %q", got)
		}
		q.Done("a")
		q.Done("a")
		none(t, q)
	})
}

func TestQueueDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		begin := time.Now()
		q.AddAfter("b", 2*time.Second)
		q.AddAfter("a", time.Second)
		q.AddAfter("now", -time.Second)
		var got []string
		for range 3 {
			item, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, item.Key+" "+time.Since(begin).String())
		}
		if diff := cmp.Diff([]string{"now 0s", "a 1s", "b 2s"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The earlier time wins, whichever is added first, and there is one run.
func TestQueueEarliestWins(t *testing.T) {
	for name, c := range map[string]struct {
		adds []time.Duration
		want time.Duration
	}{
		"a shorter delay later":  {[]time.Duration{10 * time.Second, time.Second}, time.Second},
		"a longer delay later":   {[]time.Duration{time.Second, 10 * time.Second}, time.Second},
		"at once after a delay":  {[]time.Duration{time.Second, 0}, 0},
		"a delay after at once":  {[]time.Duration{0, time.Second}, 0},
		"shorter and shorter":    {[]time.Duration{3, 2, 1}, 1},
		"among those of the day": {[]time.Duration{24 * time.Hour, time.Hour, 2 * time.Hour}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(t)
				begin := time.Now()
				for _, d := range c.adds {
					q.AddAfter("a", d)
				}
				if _, err := q.Get(t.Context()); err != nil || time.Since(begin) != c.want {
					t.Errorf("after %s, want %s: %v", time.Since(begin), c.want, err)
				}
				q.Done("a")
				time.Sleep(48 * time.Hour)
				none(t, q)
			})
		})
	}
}

func TestQueueDelayThatEndsInMidRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		get(t, q)
		q.AddAfter("a", time.Second)
		time.Sleep(2 * time.Second)
		none(t, q)
		q.Done("a")
		if got := get(t, q); got != "a" {
			t.Errorf("got %q", got)
		}
		q.AddAfter("a", time.Second)
		q.Done("a")
		none(t, q)
		time.Sleep(time.Second)
		get(t, q)
		q.AddAfter("a", time.Second)
		q.Add("a") // earlier
		q.Done("a")
		get(t, q)
		q.Done("a")
		time.Sleep(time.Minute)
		none(t, q)
	})
}

func TestQueueLimitsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		var got []time.Duration
		for range 4 {
			begin := time.Now()
			q.AddRateLimited("a")
			if _, err := q.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Since(begin))
			q.Done("a")
		}
		if n := q.NumRequeues("a"); n != 4 {
			t.Errorf("%d requeues", n)
		}
		q.Forget("a")
		if n := q.NumRequeues("a"); n != 0 {
			t.Errorf("%d requeues after Forget", n)
		}
		want := []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("delays (-want +got):\n%s", diff)
		}
	})
}

func TestQueuePriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		add := func(k string, priority int) { q.AddWith(k, queue.Add[string]{Priority: priority}) }
		add("low 1", low)
		add("raised", low)
		add("fresh 1", 0)
		add("low 2", low)
		add("fresh 2", 0)
		add("raised", 0)    // to the end of the fresh ones
		add("fresh 1", low) // stays
		var got []string
		for q.Len() > 0 {
			got = append(got, get(t, q))
			q.Done(got[len(got)-1])
		}
		want := []string{"fresh 1", "fresh 2", "raised", "low 1", "low 2"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A key of low priority comes, however many fresh ones there are.
func TestQueueLetsNothingStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		begin := time.Now()
		q.AddWith("old", queue.Add[string]{Priority: low})
		for n := 0; ; n++ {
			if n == 100_000 {
				t.Fatal("it starves")
			}
			q.Add("fresh 1")
			q.Add("fresh 2") // more come than are done
			k := get(t, q)
			q.Done(k)
			if k == "old" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if waited := time.Since(begin); waited < 9*time.Second || waited > 11*time.Second {
			t.Errorf("it waited %s", waited)
		}
	})
}

func TestQueueReturnsTheLatestCauseAndTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for _, rev := range []string{"1", "2", "3"} {
			q.AddWith("a", queue.Add[string]{Cause: "pods at " + rev})
			time.Sleep(time.Second)
		}
		got, err := q.Get(t.Context())
		want := queue.Item[string, string]{Key: "a", Cause: "pods at 3", Merged: 2, Waited: 3 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		q.AddWith("a", queue.Add[string]{Cause: "after"})
		q.Done("a")
		got, err = q.Get(t.Context())
		want = queue.Item[string, string]{Key: "a", Cause: "after"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("in mid-run: %v (-want +got):\n%s", err, diff)
		}
	})
}

// TestQueueCountsTheWaitBehindARun: a key that was added while a worker had it has waited
// since, whether or not another worker waits for keys.
func TestQueueCountsTheWaitBehindARun(t *testing.T) {
	for _, idle := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			q.Add("a")
			get(t, q)
			q.Add("a")
			var got queue.Item[string, string]
			var worker sync.WaitGroup
			next := func() { got, _ = q.Get(t.Context()) }
			if idle {
				worker.Go(next)
			}
			time.Sleep(time.Second)
			q.Done("a")
			if !idle {
				next()
			}
			worker.Wait()
			if got.Waited != time.Second {
				t.Errorf("with an idle worker = %t: it waited %s, want 1s", idle, got.Waited)
			}
		})
	}
}

func TestQueueCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		q.Add("b")
		q.AddAfter("never", time.Second)
		get(t, q)
		q.Add("a") // before the end: counts
		q.Close()
		q.Close()
		q.Add("too late")
		q.AddAfter("a", 0)
		if got := get(t, q); got != "b" {
			t.Errorf("got %q", got)
		}
		q.Done("b")
		q.Done("a")
		if got := get(t, q); got != "a" {
			t.Errorf("got %q", got)
		}
		q.Done("a")
		time.Sleep(time.Minute)
		if item, err := q.Get(t.Context()); !errors.Is(err, queue.ErrClosed) {
			t.Errorf("%q, %v", item.Key, err)
		}
	})
}

func TestQueueCloseWakesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		var workers sync.WaitGroup
		for range 5 {
			workers.Go(func() {
				if _, err := q.Get(t.Context()); !errors.Is(err, queue.ErrClosed) {
					t.Errorf("error: %v", err)
				}
			})
		}
		synctest.Wait()
		q.Close()
		workers.Wait()
	})
}

func TestQueueGetEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		var workers sync.WaitGroup
		workers.Go(func() {
			if _, err := q.Get(ctx); !errors.Is(err, why) {
				t.Errorf("error: %v", err)
			}
		})
		synctest.Wait()
		cancel(why)
		workers.Wait()
		q.Add("a")
		if _, err := q.Get(ctx); !errors.Is(err, why) {
			t.Errorf("of an ended context: %v", err)
		}
		if got := get(t, q); got != "a" {
			t.Errorf("got %q", got)
		}
	})
}

func TestQueueDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		q.Add("b")
		get(t, q)
		var done sync.WaitGroup
		done.Go(func() {
			if err := q.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if s := q.Stats(); s.Running+s.Depth != 0 {
				t.Errorf("drained with %+v", s)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with two keys left: %v", err)
		}
		q.Done("a")
		get(t, q)
		q.Done("b")
		done.Wait()
		if err := q.Drain(t.Context()); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		q.Add("b")
		q.AddAfter("c", time.Hour)
		q.AddRateLimited("d")
		get(t, q)
		time.Sleep(time.Second)
		get(t, q)
		time.Sleep(time.Second)
		got := q.Stats()
		want := queue.Stats{Depth: 1, Delayed: 1, Running: 2, Adds: 4, Retries: 1, Unfinished: 3 * time.Second, Longest: 2 * time.Second, Oldest: 1995 * time.Millisecond}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var traced []string
		q := queue.New(queue.Options[string, string]{Trace: queue.Trace[string, string]{
			Got:  func(i queue.Item[string, string]) { traced = append(traced, "got "+i.Key+" "+i.Waited.String()) },
			Done: func(k string, d time.Duration) { traced = append(traced, "done "+k+" "+d.String()) },
		}})
		q.Add("a")
		time.Sleep(time.Second)
		get(t, q)
		time.Sleep(2 * time.Second)
		q.Done("a")
		if diff := cmp.Diff([]string{"got a 1s", "done a 2s"}, traced); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestQueueLevelsBeyondEachWait: their worth, 2^63 times the ageing, is beyond 64 bits.
func TestQueueLevelsBeyondEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.AddWith("low", queue.Add[string]{Priority: math.MinInt})
		time.Sleep(time.Hour)
		q.Add("high")
		if item, err := q.Get(t.Context()); err != nil || item.Key != "high" {
			t.Errorf("got %q, %v", item.Key, err)
		}
	})
}

// TestQueueDrainsAWorkerWhoseKeyIsDelayed: the delayed run is dropped, not the one that goes on.
func TestQueueDrainsAWorkerWhoseKeyIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.Add("a")
		if _, err := q.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.AddAfter("a", time.Hour)
		done := false
		time.AfterFunc(time.Minute, func() {
			done = true
			q.Done("a")
		})
		if err := q.Drain(t.Context()); err != nil || !done {
			t.Errorf("Drain: %v; the worker was done: %v", err, done)
		}
	})
}

// TestQueueDrainsAKeyWhoseWorkerIsCancelled: the other worker got ErrClosed before the key
// could be given back, so nobody would take it again.
func TestQueueDrainsAKeyWhoseWorkerIsCancelled(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the worker runs after Close
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			work := func(ctx context.Context) {
				for item, err := q.Get(ctx); err == nil; item, err = q.Get(ctx) {
					q.Done(item.Key)
				}
			}
			var workers sync.WaitGroup
			workers.Go(func() { work(t.Context()) })
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			workers.Go(func() { work(ctx) })
			synctest.Wait()
			q.Add("a") // is passed to the last worker
			cancel()
			q.Close()
			workers.Wait()
			limited, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			if err := q.Drain(limited); err != nil {
				t.Fatalf("Drain: %v; %+v", err, q.Stats())
			}
		})
	}
}
