package watch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestWatcherThatIsLeftAmidAListListsAgain: a loop that follows one that was left between
// RESTART and SYNCED gets the collection again, though the server still has the history
// after the last revision.
func TestWatcherThatIsLeftAmidAListListsAgain(t *testing.T) {
	for _, initial := range []watch.Initial{watch.Paged, watch.Stream} {
		t.Run(string(initial), func(t *testing.T) {
			play(t, watch.Options{}, func(t *testing.T, s *story) {
				w := watch.New(s.collection(), watch.Options{Initial: initial})
				s.put("first-1", "1")
				follow := func(until watch.Type, nth int) (got []watch.Type) {
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					for ev := range w.Events(ctx) {
						if ev.Type == "" { // a report
							continue
						}
						if got = append(got, ev.Type); ev.Type == watch.Synced && until == watch.Modified {
							s.put("first-1", "2")
							s.put("first-1", "3")
						}
						if ev.Type == until {
							if nth--; nth == 0 {
								break
							}
						}
					}
					return got
				}
				follow(watch.Modified, 2)
				s.srv.On(apitest.Match{Verb: "watch"}, faults.ErrorEvent(apitest.StatusInternal("broken"))).Times(3) // then it lists
				follow(watch.Restart, 1)
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				for ev := range w.Events(ended) { // a loop that ends before its list
					if ev.Type != "" {
						t.Errorf("%s after the end of the context", ev.Type)
					}
				}
				got := follow(watch.Synced, 1)
				if len(got) == 0 || got[0] != watch.Restart {
					t.Errorf("after a list that was left, the loop got %v, want RESTART first", got)
				}
				follow(watch.Modified, 1) // SYNCED was not taken: once more
				s.put("first-1", "4")
				if diff := cmp.Diff([]watch.Type{watch.Modified}, follow(watch.Modified, 1)); diff != "" {
					t.Errorf("after the list was complete (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWatcherTakesAnUnexpectedMarkForABookmark: it ends no list, so a consumer gets no SYNCED
// without a RESTART.
func TestWatcherTakesAnUnexpectedMarkForABookmark(t *testing.T) {
	play(t, watch.Options{Initial: watch.Paged}, func(t *testing.T, s *story) {
		mark := `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"150","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
		s.srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.Inject(mark)).Times(1)
		s.start()
		s.put("a", "1")
		s.pass(time.Second)
		s.listings(1)
		if rev := s.w.Revision(); rev != "150" {
			t.Errorf("the revision is %q, want that of the mark", rev)
		}
	})
}

// TestLoopsStopWithTheirContext, though more events have arrived.
func TestLoopsStopWithTheirContext(t *testing.T) {
	for name, loop := range map[string]func(context.Context, *story) iter.Seq2[watch.Event[kube.Partial], error]{
		"Once": func(ctx context.Context, s *story) iter.Seq2[watch.Event[kube.Partial], error] {
			return watch.Once(ctx, s.collection(), "", watch.Options{})
		},
		"streamed": func(ctx context.Context, s *story) iter.Seq2[watch.Event[kube.Partial], error] {
			return watch.New(s.collection(), watch.Options{Initial: watch.Stream}).Events(ctx)
		},
		"paged": func(ctx context.Context, s *story) iter.Seq2[watch.Event[kube.Partial], error] {
			return watch.New(s.collection(), watch.Options{Initial: watch.Paged}).Events(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, watch.Options{}, func(t *testing.T, s *story) {
				for i := range 50 {
					s.put(fmt.Sprint("first-", i), "1")
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				objects := 0
				var last error
				for ev, err := range loop(ctx, s) {
					if last = err; ev.Type == watch.Added {
						objects++
						cancel()
					}
				}
				if objects != 1 || !errors.Is(last, context.Canceled) {
					t.Errorf("%d objects, %v", objects, last)
				}
			})
		})
	}
}
