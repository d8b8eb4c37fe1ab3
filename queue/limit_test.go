package queue_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/queue"
)

// A delay beyond the last representable moment does not delay other keys: the sum
// of now and the delay saturates.
func TestQueueDelayWithoutEndHoldsBackNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		begin := time.Now()
		<-time.After(time.Second)
		q.AddAfter("never", time.Until(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)))
		q.AddAfter("a", time.Second)
		q.AddRateLimited("b")
		var got []string
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			item, err := q.Get(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, item.Key+" "+time.Since(begin).String())
			q.Done(item.Key)
		}
		if diff := cmp.Diff([]string{"b 1.005s", "a 2s"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		q.Add("never")
		if got := get(t, q); got != "never" {
			t.Errorf("got %q", got)
		}
	})
}

// Priorities are compared exactly, the largest and the smallest too.
func TestQueuePriorityHasNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		for _, p := range []int{math.MinInt, math.MinInt + 1, -1 << 40, 0, 1 << 40, math.MaxInt - 1, math.MaxInt} {
			q.AddWith(fmt.Sprint(p), queue.Add[string]{Priority: p})
			<-time.After(time.Millisecond)
		}
		<-time.After(time.Second)
		q.AddWith("late", queue.Add[string]{Priority: math.MaxInt - 1})
		var got []string
		for q.Len() > 0 {
			got = append(got, get(t, q))
		}
		want := []string{"9223372036854775807", "9223372036854775806", "late", "1099511627776", "0", "-1099511627776", "-9223372036854775807", "-9223372036854775808"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
