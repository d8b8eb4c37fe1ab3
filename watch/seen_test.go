package watch_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestWatcherSeenComparesTheServer: a revision that was seen of the server says whether
// it was restored, whether or not there is one to resume from.
func TestWatcherSeenComparesTheServer(t *testing.T) {
	const after, present = true, false
	tests := []struct {
		name           string
		revision, seen bool // a revision is given; and whether that of Seen is after the server's
		want           []string
	}{
		{"nothing to resume, a server that goes on", false, present, []string{"RESTART"}},
		{"nothing to resume, a restored server", false, after, []string{"hook", "RESTART ahead"}},
		{"resumed, a restored server", true, after, []string{"hook", "RESTART ahead"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			play(t, watch.Options{}, func(t *testing.T, s *story) {
				o := watch.Options{Seen: s.srv.Revision()}
				if tt.seen == after {
					o.Seen += "0"
				}
				if tt.revision {
					o.Revision = o.Seen
				}
				var got []string
				o.Trace.Ahead = func(why error) {
					if !errors.Is(why, watch.ErrAhead) {
						t.Errorf("the hook got %v", why)
					}
					got = append(got, "hook")
				}
				w := watch.New(s.collection(), o)
				for ev, err := range w.Events(t.Context()) {
					if err != nil || ev.Type == watch.Synced {
						break
					}
					if ev.Type == watch.Restart && errors.Is(ev.Cause, watch.ErrAhead) {
						got = append(got, "RESTART ahead")
					} else if ev.Type == watch.Restart {
						got = append(got, "RESTART")
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWatcherRemembersARestoreBeforeItsList: a loop that ends when it knows that the server
// was restored, and before RESTART, leaves that to the next one.
func TestWatcherRemembersARestoreBeforeItsList(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := watch.Options{Seen: s.srv.Revision() + "0"}
		o.Trace.Ahead = func(error) { cancel() }
		w := watch.New(s.collection(), o)
		for ev := range w.Events(ctx) {
			if ev.Type != "" {
				t.Errorf("%s in the loop that ended", ev.Type)
			}
		}
		for ev, err := range w.Events(t.Context()) {
			if err != nil || ev.Type != watch.Restart || !errors.Is(ev.Cause, watch.ErrAhead) {
				t.Errorf("the next loop begins with %q, %v (%v), want RESTART because of the restored server", ev.Type, ev.Cause, err)
			}
			break
		}
	})
}

// TestWatcherSeenIsComparedOnce: a loop that follows another one neither asks again nor
// forgets what was found before its list is complete.
func TestWatcherSeenIsComparedOnce(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		w := watch.New(s.collection(), watch.Options{Seen: s.srv.Revision() + "0"})
		restarts := func(until watch.Type) (ahead int) {
			for ev, err := range w.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if errors.Is(ev.Cause, watch.ErrAhead) {
					ahead++
				}
				if ev.Type == until {
					break
				}
				if ev.Type == watch.Synced {
					s.put("first-1", "1")
					s.put("first-1", "2")
				}
			}
			return ahead
		}
		got := []int{restarts(watch.Added), restarts(watch.Added), restarts(watch.Modified)} // amid the list, and beyond it
		got = append(got, restarts(watch.Modified))
		if diff := cmp.Diff([]int{1, 1, 1, 0}, got); diff != "" {
			t.Errorf("lists because of the restored server (-want +got):\n%s", diff)
		}
		if n := s.count("list", "limit"); n != 1 {
			t.Errorf("the revision was asked for %d times, want 1\n%s", n, s.requests())
		}
	})
}

// TestWatcherSeenWithAnInvalidRequest: what no retry can mend ends the loop, though the
// request for the revision comes first.
func TestWatcherSeenWithAnInvalidRequest(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		fields, err := kube.ParseFieldSelector("spec.color=blue")
		if err != nil {
			t.Fatal(err)
		}
		w := watch.New(s.collection().Where(kube.Selector{}, fields), watch.Options{Revision: s.srv.Revision(), Seen: s.srv.Revision()})
		var last error
		for _, err := range w.Events(t.Context()) {
			if last = err; len(s.srv.Requests()) > 10 {
				break
			}
		}
		if n := len(s.srv.Requests()); !errors.Is(last, kube.ErrInvalid) || n != 2 {
			t.Errorf("ended with %v after %d requests, want the error of the second\n%s", last, n, s.requests())
		}
	})
}

// TestWatcherSeenIsComparedByALaterLoop: the first one ended before the server answered.
func TestWatcherSeenIsComparedByALaterLoop(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		w := watch.New(s.collection(), watch.Options{Revision: s.srv.Revision(), Seen: s.srv.Revision() + "0"})
		if err := s.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		for _, err := range w.Events(t.Context()) {
			if err != nil {
				break
			}
		}
		if err := s.srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		for ev, err := range w.Events(t.Context()) {
			if !errors.Is(ev.Cause, watch.ErrAhead) {
				t.Errorf("began with %s, %v, %v; want a RESTART because the server was restored", ev.Type, ev.Cause, err)
			}
			break
		}
	})
}

// TestWatcherWhoseServerIsRestoredBetweenPages: a token of the history that is lost neither
// holds up the list, nor counts when the server reaches its revision again.
func TestWatcherWhoseServerIsRestoredBetweenPages(t *testing.T) {
	play(t, watch.Options{Initial: watch.Paged, Limit: 2}, func(t *testing.T, s *story) {
		s.srv.On(apitest.Match{Verb: "list", Resource: "configmaps", Query: "continue="}, func(_ http.ResponseWriter, r *http.Request) {
			s.srv.Rewind(2)
			<-r.Context().Done()
		}).Times(1)
		s.start()
		s.pass(time.Minute)
		for range 9 {
			s.srv.Tick()
		}
		s.pass(time.Minute)
		s.listings(1)
		s.equal()
	})
}
