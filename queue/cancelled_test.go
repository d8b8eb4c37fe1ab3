package queue_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/queue"
)

// TestQueuePassesTheKeyOfACancelledWorkerOn: a worker is cancelled after "a" was passed to
// it and before it runs.
func TestQueuePassesTheKeyOfACancelledWorkerOn(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting   int // other workers, which wait before
		meanwhile func(q *queue.Queue[string, string])
		want      []string // what the others get within a minute
	}{
		"with its priority":                {0, func(q *queue.Queue[string, string]) { q.AddWith("b", queue.Add[string]{Priority: 1}); q.Add("a") }, []string{"a", "b"}},
		"to a worker that waits":           {1, func(*queue.Queue[string, string]) {}, []string{"a"}},
		"to the next one that asks":        {0, func(*queue.Queue[string, string]) {}, []string{"a"}},
		"before keys that were added then": {0, func(q *queue.Queue[string, string]) { q.Add("b") }, []string{"a", "b"}},
		"once if it was added again":       {0, func(q *queue.Queue[string, string]) { q.Add("a") }, []string{"a"}},
		"though it is added with a delay":  {0, func(q *queue.Queue[string, string]) { q.AddAfter("a", time.Hour) }, []string{"a"}},
		"the same, to one that waits":      {1, func(q *queue.Queue[string, string]) { q.AddAfter("a", time.Hour) }, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the worker runs after cancel
			for range 20 {                                  // it sees its key or the end of its context first
				synctest.Test(t, func(t *testing.T) {
					q := newQueue(t)
					var got []string
					minute, stop := context.WithTimeout(t.Context(), time.Minute)
					defer stop()
					work := func() {
						for item, err := q.Get(minute); err == nil; item, err = q.Get(minute) {
							got = append(got, item.Key)
							q.Done(item.Key)
						}
					}
					var workers sync.WaitGroup
					for range tt.waiting {
						workers.Go(work)
					}
					synctest.Wait()
					ctx, cancel := context.WithCancel(t.Context())
					early := false // it ran before cancel, because this goroutine was preempted
					workers.Go(func() {
						if item, err := q.Get(ctx); err == nil {
							early = true
							q.Done(item.Key)
						}
					})
					synctest.Wait()
					q.AddWith("a", queue.Add[string]{Priority: 2}) // is passed to the last worker
					cancel()
					tt.meanwhile(q)
					synctest.Wait()
					if tt.waiting == 0 {
						workers.Go(work)
					}
					workers.Wait()
					if early {
						return
					}
					if diff := cmp.Diff(tt.want, got); diff != "" {
						t.Errorf("passed within a minute (-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}
