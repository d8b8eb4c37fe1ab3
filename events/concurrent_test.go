package events_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

// TestRecorderFromManyGoroutines: whatever fails, each call is counted once, and no
// Event is recorded more or less often than it happened.
func TestRecorderFromManyGoroutines(t *testing.T) {
	play(t, events.Options{Burst: 1 << 20}, func(s *story) {
		var set []*apitest.Fault
		for _, verb := range []string{"create", "patch"} {
			for n, fault := range map[int]http.HandlerFunc{3: faults.Truncate(10), 7: faults.Reset(), 11: faults.Throttle("1")} {
				set = append(set, s.srv.On(apitest.Match{Verb: verb, Nth: n}, fault))
			}
		}
		const callers, calls = 8, 60
		var all sync.WaitGroup
		for n := range callers {
			dice := rand.New(rand.NewPCG(1, uint64(n)))
			all.Go(func() {
				for range calls {
					about := events.Reference{Kind: "Foo", Namespace: "shop", Name: fmt.Sprint("foo-", dice.IntN(5))}
					s.r.Eventf(about, events.Normal, "Synced", "message %d", dice.IntN(12))
					s.r.Stats()
					<-time.After(time.Duration(dice.Int64N(int64(time.Second))))
				}
			})
		}
		all.Wait()
		s.pass(5 * time.Minute)
		for _, f := range set {
			if f.Hits() == 0 {
				t.Error("a fault did not strike")
			}
		}
		s.counts(events.Stats{Recorded: callers * calls, Written: callers * calls})
		sum := 0
		for _, e := range s.stored() {
			sum += e.Count
		}
		if sum != callers*calls {
			t.Errorf("Events happened %d times, want %d", sum, callers*calls)
		}
		// Of 12 messages, 9 have Events of their own.
		if n := len(s.stored()); n != 5*10 {
			t.Errorf("%d Events, want 10 of each object", n)
		}
	})
}

// TestRecorderIsUsedWhileItEnds: by many, when nobody waits for them.
func TestRecorderIsUsedWhileItEnds(t *testing.T) {
	play(t, events.Options{Queue: 5}, func(s *story) {
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				for i := range 300 {
					s.r.Eventf(events.About(kube.Pods, pod).Field(fmt.Sprint(n)), events.Normal, fmt.Sprint("R", i), "m")
				}
			})
		}
		s.stop(errStop)
		all.Wait()
		<-s.done
		synctest.Wait()
		if n := s.r.Stats(); n.Recorded != 1200 || n.Waiting != 0 {
			t.Errorf("got %+v", n)
		}
	})
}
