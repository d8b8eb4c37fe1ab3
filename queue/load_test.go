package queue_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/queue"
)

// Workers come, go and give up; keys are added in every way. No key is ever with
// two workers, and each one that is added is handed out afterwards.
func TestQueueUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(queue.Options[int, string]{Backoff: queue.Backoff{QPS: -1}})
		const keys, rounds = 50, 400
		var mu sync.Mutex
		running := make(map[int]bool)
		wanted, handled := make(map[int]int), make(map[int]int) // by the number of the last add
		var workers, adders sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for w := range 8 {
			workers.Go(func() {
				for ctx.Err() == nil {
					patience, stop := context.WithTimeout(ctx, time.Duration(w+1)*time.Millisecond)
					item, err := q.Get(patience)
					stop()
					if err != nil {
						continue
					}
					mu.Lock()
					if running[item.Key] {
						t.Errorf("%d is with two workers", item.Key)
					}
					running[item.Key] = true
					saw := wanted[item.Key]
					mu.Unlock()
					time.Sleep(time.Duration(item.Key%5) * time.Millisecond)
					mu.Lock()
					handled[item.Key] = max(handled[item.Key], saw)
					running[item.Key] = false
					mu.Unlock()
					q.Done(item.Key)
				}
			})
		}
		for a := range 4 {
			adders.Go(func() {
				for n := range rounds {
					k := (n*7 + a*13) % keys
					mu.Lock()
					wanted[k]++
					mu.Unlock()
					switch n % 4 {
					case 0:
						q.Add(k)
					case 1:
						q.AddAfter(k, time.Duration(n%9)*time.Millisecond)
					case 2:
						q.AddWith(k, queue.Add[string]{Priority: n%3 - 1})
					case 3:
						q.AddRateLimited(k)
						q.Forget(k)
					}
					time.Sleep(time.Duration(n%3) * time.Millisecond)
				}
			})
		}
		adders.Wait()
		time.Sleep(time.Minute)
		cancel()
		workers.Wait()
		if diff := cmp.Diff(wanted, handled); diff != "" {
			t.Errorf("the last add of each key (-added +handled):\n%s", diff)
		}
		if s := q.Stats(); s.Depth+s.Delayed+s.Running != 0 {
			t.Errorf("left over: %+v", s)
		}
		q.Close()
	})
}

func TestQueueDoesNotAllocateInRoutine(t *testing.T) {
	q := queue.New(queue.Options[string, string]{})
	defer q.Close()
	keys := []string{"a", "b", "c", "d"}
	round := func() {
		for _, k := range keys {
			q.Add(k)
		}
		for range keys {
			item, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			q.Done(item.Key)
		}
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
