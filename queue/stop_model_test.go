package queue_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/queue"
)

var seeds = flag.Int("model.seeds", 15, "how many lives of queues TestStopModel plays")

func wait(d time.Duration) { <-time.After(d) }

// TestStopModel plays workers that come and go and are cancelled at the moment
// at which they are given a key, and a queue that is closed and drained at a random
// moment: what was added without a delay before that is handed out, to one worker at
// a time, and Drain returns when the last is done.
func TestStopModel(t *testing.T) {
	for seed := range *seeds {
		synctest.Test(t, func(t *testing.T) { playStops(t, rand.New(rand.NewPCG(uint64(seed), 4))) })
	}
}

func playStops(t *testing.T, dice *rand.Rand) {
	q := queue.New(queue.Options[int, string]{})
	var mu sync.Mutex
	added, handled := make(map[int]int), make(map[int]int) // by key, the number of the add
	taken := make(map[int]bool)
	closed := false
	n := 0
	work := func(ctx context.Context, length time.Duration) bool {
		item, err := q.Get(ctx)
		if err != nil {
			if !errors.Is(err, queue.ErrClosed) && !errors.Is(err, context.Cause(ctx)) {
				t.Errorf("Get: %v", err)
			}
			return !errors.Is(err, queue.ErrClosed)
		}
		mu.Lock()
		if taken[item.Key] {
			t.Errorf("%d is with two workers", item.Key)
		}
		taken[item.Key] = true
		saw := added[item.Key]
		mu.Unlock()
		wait(length)
		mu.Lock()
		taken[item.Key] = false
		handled[item.Key] = max(handled[item.Key], saw)
		mu.Unlock()
		q.Done(item.Key)
		return true
	}
	var workers sync.WaitGroup
	lengths := make([]time.Duration, 6)
	for i := range lengths {
		lengths[i] = time.Duration(dice.IntN(4)) * time.Millisecond
	}
	for i, length := range lengths {
		workers.Go(func() {
			for on := true; on; { // it is cancelled each few milliseconds, when keys come
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%3)*time.Millisecond)
				on = work(ctx, length)
				cancel()
			}
		})
	}
	add := func(k int, a queue.Add[string]) {
		mu.Lock()
		defer mu.Unlock()
		if n++; !closed && a.After == 0 {
			added[k] = n
		}
		q.AddWith(k, a)
	}
	for range 200 + dice.IntN(400) {
		k := dice.IntN(12)
		switch dice.IntN(6) {
		case 0:
			wait(time.Millisecond)
		case 1:
			add(k, queue.Add[string]{After: time.Duration(1+dice.IntN(3)) * time.Millisecond})
		case 2:
			add(k, queue.Add[string]{Priority: dice.IntN(5) - 2})
		default:
			add(k, queue.Add[string]{})
		}
	}
	mu.Lock()
	closed = true
	q.Close()
	mu.Unlock()
	add(5, queue.Add[string]{}) // does nothing
	if err := q.Drain(t.Context()); err != nil {
		t.Errorf("Drain: %v", err)
	}
	mu.Lock()
	if diff := cmp.Diff(added, handled); diff != "" {
		t.Errorf("the last add of each key (-added +handled):\n%s", diff)
	}
	for k, with := range taken {
		if with {
			t.Errorf("drained, though %d is with a worker", k)
		}
	}
	mu.Unlock()
	workers.Wait()
	if s := q.Stats(); s.Depth+s.Delayed+s.Running != 0 {
		t.Errorf("left over: %+v", s)
	}
}
