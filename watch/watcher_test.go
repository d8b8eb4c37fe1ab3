package watch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

func TestWatcherDeliversExistingObjectsAndThenChanges(t *testing.T) {
	for _, mode := range []watch.Initial{watch.Auto, watch.Paged, watch.Stream} {
		t.Run("initial="+string(mode), func(t *testing.T) {
			play(t, watch.Options{Initial: mode, Limit: 2}, func(t *testing.T, s *story) {
				s.start()
				s.delivered("ADDED first-0", "ADDED first-1", "ADDED first-2")
				s.put("first-1", "1")
				s.put("second", "0")
				s.delete("first-2")
				synctest.Wait()
				s.delivered("MODIFIED first-1", "ADDED second", "DELETED first-2")
				s.equal()
				s.listings(1)
			})
		})
	}
}

func TestWatcherStreamsWithoutAList(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		if n := s.count("list"); n != 0 {
			t.Errorf("%d LIST requests, want 0", n)
		}
	})
}

// TestWatcherRevisionIsWhatTheLoopTook: an event whose loop body was left by a
// break is delivered again to the next loop.
func TestWatcherRevisionIsWhatTheLoopTook(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.stop()
		<-s.done
		at := s.w.Revision()
		s.put("second", "0")
		s.put("third", "0")
		for ev, err := range s.w.Events(t.Context()) {
			if err != nil || ev.Key.Name != "second" {
				t.Errorf("first event is %s %s, error %v; want second", ev.Type, ev.Key, err)
			}
			break
		}
		if got := s.w.Revision(); got != at {
			t.Errorf("revision is %s after a break, want %s as before", got, at)
		}
		var names []string
		for ev := range s.w.Events(t.Context()) {
			if names = append(names, ev.Key.Name); len(names) == 2 {
				break
			}
		}
		if diff := cmp.Diff([]string{"second", "third"}, names); diff != "" {
			t.Errorf("delivered again (-want +got):\n%s", diff)
		}
	})
}

func TestWatcherEndsWithTheCauseOfItsContext(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.stop()
		<-s.done
		if !errors.Is(s.ended, context.Canceled) {
			t.Errorf("the last element is %v, want %v", s.ended, context.Canceled)
		}
	})
}

func TestWatcherResumesFromAGivenRevision(t *testing.T) {
	play(t, watch.Options{Revision: "102"}, func(t *testing.T, s *story) { // the fake counts from 101
		s.start()
		s.delivered("ADDED first-2")
		s.listings(0)
	})
}

func TestWatcherWatchesOnlyWhatIsSelected(t *testing.T) {
	sel, err := kube.ParseSelector("v=1")
	if err != nil {
		t.Fatal(err)
	}
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.w = watch.New(s.collection().Where(sel, kube.FieldSelector{}), watch.Options{})
		s.start()
		s.delivered()
		s.put("first-0", "1")
		s.put("first-0", "2")
		s.put("first-1", "2")
		synctest.Wait()
		s.delivered("ADDED first-0", "DELETED first-0")
		s.listings(1)
	})
}

// TestWatcherSleepsThroughRoutine watches for two days of virtual time: servers
// end every watch after some minutes, nothing is lost, listed again or reported.
func TestWatcherSleepsThroughRoutine(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		for i := range 48 {
			s.churn(fmt.Sprint(i))
			s.pass(time.Hour)
		}
		for i := range 48 {
			s.toldOnce(fmt.Sprint(i))
		}
		s.equal()
		s.listings(1)
		if len(s.errs) != 0 {
			t.Errorf("%d errors on the way, first: %v", len(s.errs), s.errs[0])
		}
		if n := s.count("watch"); n < 200 || n > 600 {
			t.Errorf("%d watches in 48 hours, want one in 5 to 10 minutes", n)
		}
	})
}

func TestWatcherReportsAnInconsistentList(t *testing.T) {
	var got []bool
	trace := watch.Trace{Listed: func(p list.Progress) { got = append(got, p.Inconsistent) }}
	play(t, watch.Options{Initial: watch.Paged, Limit: 1, Trace: trace}, func(t *testing.T, s *story) {
		got = nil
		s.srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 2}, faults.ExpireContinue()).Times(1)
		s.start()
		if diff := cmp.Diff([]bool{false, false, true}, got); diff != "" {
			t.Errorf("Inconsistent of each page (-want +got):\n%s", diff)
		}
	})
}

func TestWatcherReconnectsWithJitter(t *testing.T) {
	seen := map[string]bool{}
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.pass(2 * time.Hour)
		for _, r := range s.srv.Requests() {
			seen[r.Query.Get("timeoutSeconds")] = true
		}
	})
	if len(seen) < 5 {
		t.Errorf("two hours of watches asked for %d different timeouts, want them spread", len(seen))
	}
}

func TestWatcherResumesAfterLostConnections(t *testing.T) {
	ends := []struct {
		name string
		end  func(*apitest.Server)
	}{
		{"closed in good order", (*apitest.Server).CloseWatches},
		{"cut in mid-frame", (*apitest.Server).CutWatches},
		{"reset", (*apitest.Server).DropWatches},
		{"all connections cut", (*apitest.Server).Cut},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			play(t, watch.Options{}, func(t *testing.T, s *story) {
				s.start()
				for i := range 25 {
					tt.end(s.srv)
					s.churn(fmt.Sprint(i)) // while nobody watches
					s.pass(time.Minute)
				}
				for i := range 25 {
					s.toldOnce(fmt.Sprint(i))
				}
				s.equal()
				s.listings(1)
			})
		})
	}
}

// TestWatcherOutlivesAnOutage: an hour of refused connections costs a request in
// about 45 s, and no relist.
func TestWatcherOutlivesAnOutage(t *testing.T) {
	for _, tls := range []bool{false, true} {
		for _, door := range []apitest.Door{apitest.Refusing, apitest.Hanging, apitest.Resetting} {
			t.Run(fmt.Sprint("door=", door, ",tls=", tls), func(t *testing.T) { // with TLS, Hanging stalls the handshake
				playOn(t, apitest.Options{TLS: tls}, watch.Options{}, func(t *testing.T, s *story) {
					s.start()
					if err := s.srv.SetDoor(door); err != nil {
						t.Fatal(err)
					}
					s.srv.Cut()
					s.churn("out")
					s.pass(time.Hour)
					if n := len(s.errs); n < 40 || n > 140 {
						t.Errorf("%d attempts in an hour, want one in 30 to 60 s", n)
					}
					if err := s.srv.SetDoor(apitest.Open); err != nil {
						t.Fatal(err)
					}
					s.pass(2 * time.Minute)
					s.toldOnce("out")
					s.equal()
					s.listings(1)
				})
			})
		}
	}
}

func TestWatcherStartsWhenTheServerDoes(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		if err := s.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		s.start()
		s.pass(5 * time.Minute)
		if err := s.srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		s.pass(time.Minute)
		s.equal()
		s.listings(1)
	})
}

// TestWatcherRelistsAfterGone: 410 in its three shapes. What happened in between
// is delivered as differences, each deletion among them.
func TestWatcherRelistsAfterGone(t *testing.T) {
	shapes := []struct {
		name string
		gone apitest.Gone
	}{
		{"as an ERROR event", apitest.GoneEvent},
		{"as an HTTP status", apitest.GoneStatus},
		{"as a silent close and then", apitest.GoneSilent},
	}
	for _, tt := range shapes {
		for _, mode := range []watch.Initial{watch.Paged, watch.Stream} {
			t.Run(tt.name+", "+string(mode), func(t *testing.T) {
				play(t, watch.Options{Initial: mode, Limit: 2}, func(t *testing.T, s *story) {
					s.srv.SetGone(tt.gone)
					s.start()
					s.log = nil
					if err := s.srv.SetDoor(apitest.Refusing); err != nil {
						t.Fatal(err)
					}
					s.srv.Cut()
					s.put("first-0", "1")
					s.delete("first-1")
					s.delete("first-2")
					s.put("first-2", "again") // a namesake
					s.put("second", "0")
					s.put("third", "0")
					s.delete("third")
					s.srv.Expire()
					if err := s.srv.SetDoor(apitest.Open); err != nil {
						t.Fatal(err)
					}
					s.pass(time.Minute)
					s.delivered("MODIFIED first-0 inferred", "DELETED first-2 inferred", "ADDED first-2 inferred", "ADDED second inferred", "DELETED first-1 inferred")
					s.equal()
					s.listings(2)
					s.churn("after")
					s.toldOnce("after")
				})
			})
		}
	}
}

// TestWatcherRelistsOnceForEachLossOfHistory: also while it watches.
func TestWatcherRelistsOnceForEachLossOfHistory(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		for i := range 5 {
			s.churn(fmt.Sprint(i))
			s.srv.Expire()
			s.pass(10 * time.Minute)
			s.equal()
		}
		if n := s.counts.synced; n > 6 {
			t.Errorf("synced %d times after 5 losses of history, want at most 6", n)
		}
	})
}

func TestWatcherSurvivesARestartOfTheServer(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.churn("before")
		s.srv.Restart()
		s.churn("after")
		s.pass(time.Minute)
		s.equal()
		s.toldOnce("before")
	})
}

// TestWatcherNoticesARestoredServer: after a restore the server's revision is
// behind ours, and a watch from ours is accepted and silent until the server has
// caught up. The silence gives it away.
func TestWatcherNoticesARestoredServer(t *testing.T) {
	playOn(t, apitest.Options{BookmarkInterval: time.Minute}, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		past := s.srv.Revision()
		for i := range 200 {
			s.churn(fmt.Sprint(i))
		}
		s.srv.RestoreTo(past)
		s.pass(10 * time.Minute)
		s.equal()
		s.listings(2)
		s.churn("after")
		s.pass(time.Second)
		s.equal()
		if n := s.store.Len(); n != 4 {
			t.Errorf("%d objects, want the 3 of before the restore and 1", n)
		}
		if got, want := s.w.Revision(), s.srv.Revision(); got != want {
			t.Errorf("the revision is %s, that of the server %s", got, want)
		}
		s.pass(time.Hour) // watches end and resume
		s.listings(2)
	})
}

// TestWatcherIsNotSetBack: a bookmark of an earlier revision does not say where to resume.
func TestWatcherIsNotSetBack(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		behind := s.srv.On(apitest.Match{Verb: "watch", AfterEvent: 8}, faults.BookmarkBehind(7)).Times(1)
		w, last := watch.New(s.collection(), watch.Options{}), kube.Revision("")
		for ev, err := range w.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			now := w.Revision()
			if last.Newer(now) {
				t.Errorf("the revision is %s after %s", now, last)
			}
			if last = now; ev.Type == watch.Synced {
				s.churn("0")
				s.churn("1")
			}
			if ev.Type == watch.Deleted && ev.Key.Name == "gone-1" {
				break
			}
		}
		if behind.Hits() != 1 {
			t.Errorf("%d bookmarks", behind.Hits())
		}
	})
}

// TestWatcherFindsADeadPeer: the server is cut off without a word, as by a
// firewall that forgot the connection.
func TestWatcherFindsADeadPeer(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.pass(10 * time.Second) // so that the end is routine
		stall := s.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps"}, faults.HalfOpen())
		s.srv.CloseWatches()
		s.pass(time.Second)
		s.churn("unseen")
		stall.Remove()
		s.pass(4 * time.Minute)
		s.toldOnce("unseen")
		s.equal()
		s.listings(1)
		if !s.mentioned(client.ErrIdle.Error()) {
			t.Errorf("no report of the silence: %v", s.errs)
		}
	})
}

// TestWatcherLeavesADeadConnection: over HTTP/2 all requests share a connection.
// Once it was silent for too long the next ones must not go the same way, nor
// wait for the ping to fail.
func TestWatcherLeavesADeadConnection(t *testing.T) {
	playOn(t, apitest.Options{TLS: true}, watch.Options{Idle: 5 * time.Second}, func(t *testing.T, s *story) {
		s.start()
		s.srv.On(apitest.Match{Verb: "watch", AfterEvent: 5}, faults.HalfOpen()).Times(1)
		s.srv.CloseWatches()
		s.pass(time.Second)
		s.churn("first")  // the fifth event is not among these three
		s.churn("unseen") // and what follows it goes nowhere
		s.pass(15 * time.Second)
		s.toldOnce("unseen")
		s.equal()
		s.listings(1)
	})
}

func TestWatcherIsContentWithAQuietServer(t *testing.T) {
	// No bookmarks at all, as from a server that does not know them.
	playOn(t, apitest.Options{BookmarkInterval: -1}, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.pass(3 * time.Hour)
		s.churn("after")
		s.pass(time.Second)
		s.toldOnce("after")
		s.equal()
		s.listings(1)
	})
}

// TestWatcherFallsBackThoughNewsKeepComing: a server that ignores
// sendInitialEvents, and creates an object at every interval.
func TestWatcherFallsBackThoughNewsKeepComing(t *testing.T) {
	for _, interval := range []time.Duration{10 * time.Second, time.Second, 50 * time.Millisecond} {
		t.Run(fmt.Sprint("interval=", interval), func(t *testing.T) {
			play(t, watch.Options{}, func(t *testing.T, s *story) {
				s.srv.On(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, faults.IgnoreInitialEvents())
				s.start()
				for i := range int(21 * time.Second / interval) {
					s.put(fmt.Sprint("news-", i), "1")
					s.pass(interval)
				}
				s.equal()
				s.listings(1)
				if s.counts.fallbacks != 1 || len(s.errs) != 0 {
					t.Errorf("%d fallbacks and errors %v, want 1 and none", s.counts.fallbacks, s.errs)
				}
			})
		})
	}
}

// TestWatcherWaitsForInitialObjectsThatComeSlowly: over a slow link the initial
// objects, which come in the order of their names, take minutes.
func TestWatcherWaitsForInitialObjectsThatComeSlowly(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		for i := range 20 {
			s.put(fmt.Sprint("early-", 50-i), "1") // their order of names is not that of revisions
		}
		s.srv.On(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, faults.EachEvent(func(w http.ResponseWriter, event []byte) {
			<-time.After(6 * time.Second)
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}))
		s.start()
		s.pass(5 * time.Minute)
		s.equal()
		s.listings(1)
		if s.counts.fallbacks != 0 {
			t.Errorf("%d fallbacks, want none", s.counts.fallbacks)
		}
	})
}

// TestWatcherWaitsForASlowLoop: a loop that takes a minute for each initial
// object is no reason to fall back or to reconnect.
func TestWatcherWaitsForASlowLoop(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		var got []watch.Type
		for ev, err := range s.w.Events(t.Context()) {
			if err != nil {
				t.Errorf("got %v", err)
			}
			<-time.After(4 * time.Minute)
			if got = append(got, ev.Type); ev.Type == watch.Synced {
				break
			}
		}
		want := []watch.Type{watch.Restart, watch.Added, watch.Added, watch.Added, watch.Synced}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(s.srv.Requests()); n != 1 {
			t.Errorf("%d requests, want 1:\n%s", n, s.requests())
		}
	})
}

func TestWatcherWaitsForAResourceToComeBack(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.start()
		s.srv.RemoveResource(kube.ConfigMaps)
		s.pass(time.Hour)
		if !errors.Is(s.errs[len(s.errs)-1], kube.ErrNotFound) {
			t.Errorf("got %v, want not found", s.errs[len(s.errs)-1])
		}
		if n := len(s.errs); n > 140 {
			t.Errorf("%d attempts in an hour", n)
		}
		s.srv.AddResource(apitest.ResourceInfo{Resource: kube.ConfigMaps})
		s.put("first-1", "again")
		s.pass(time.Minute)
		s.equal()
	})
}

func TestWatcherReportsStalenessAndContact(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		if !s.w.LastContact().IsZero() {
			t.Error("contact before the first request")
		}
		s.start()
		s.pass(2*time.Minute + time.Second)
		if d := time.Since(s.w.LastContact()); d > time.Minute+time.Second {
			t.Errorf("a healthy server was last heard %v ago", d)
		}
		if err := s.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		s.srv.Cut()
		s.pass(time.Hour)
		if d := time.Since(s.w.LastContact()); d < time.Hour {
			t.Errorf("a dead server was last heard %v ago, want an hour", d)
		}
	})
}

func TestOnceIsOneRequest(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		var got []string
		for ev, err := range watch.Once(t.Context(), client.Of[kube.Partial](s.client, kube.ConfigMaps), "", watch.Options{Timeout: time.Minute}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(ev.Type)+" "+ev.Key.Name)
			if ev.Type == watch.Synced {
				s.delete("first-1")
			}
		}
		want := []string{"ADDED first-0", "ADDED first-1", "ADDED first-2", "SYNCED ", "DELETED first-1"}
		if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestWatcherBacksOffWhenHistoryIsGoneAfterEachMark: the objects of a stream are
// no progress of the watch that follows them.
func TestWatcherBacksOffWhenHistoryIsGoneAfterEachMark(t *testing.T) {
	play(t, watch.Options{Initial: watch.Stream}, func(t *testing.T, s *story) {
		s.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps", AfterEvent: 4}, faults.ErrorEvent(apitest.StatusExpired(1, 2)))
		s.start()
		s.pass(5 * time.Minute)
		if n := len(s.srv.Requests()); n < 5 || n > 30 {
			t.Errorf("%d requests in 5 minutes:\n%s", n, s.requests())
		}
	})
}

// TestWatcherMistrustsABookmarkOfAnotherKind: its revision is not ours.
func TestWatcherMistrustsABookmarkOfAnotherKind(t *testing.T) {
	play(t, watch.Options{}, func(t *testing.T, s *story) {
		s.srv.On(apitest.Match{Verb: "watch", Resource: "configmaps", AfterEvent: 5}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"kind":"Secret","apiVersion":"v1","metadata":{"resourceVersion":"999999"}}}`+"\n")
			apitest.Continue(w, r)
		}).Times(1)
		s.start()
		s.churn("first")
		s.pass(time.Second)
		if rev := s.w.Revision(); rev != s.srv.Revision() {
			t.Errorf("the watcher is at %s, the server at %s", rev, s.srv.Revision())
		}
		if !s.mentioned("a bookmark of a Secret") {
			t.Errorf("no report: %v", s.errs)
		}
		s.srv.CloseWatches()
		s.churn("second")
		s.pass(time.Minute)
		s.toldOnce("second")
		s.listings(1)
		s.equal()
	})
}

// TestWatcherNamesWhatIsTooLargeToList: an object above MaxItem does not keep
// the collection from being delivered, and a store learns that it exists.
func TestWatcherNamesWhatIsTooLargeToList(t *testing.T) {
	srv := apitest.New(t)
	srv.Put(kube.Pods, `{"metadata":{"namespace":"d","name":"a"}}`)
	srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"d","name":"b"},"spec":{"nodeName":"%0100000d"}}`, 0))
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	w := watch.New(client.Of[codec.Raw](c, kube.Pods), watch.Options{Initial: watch.Paged, MaxItem: 50000})
	for ev, err := range w.Events(t.Context()) {
		if err != nil && !(codec.IsItem(err) && errors.Is(err, codec.ErrTooLarge) && ev.UID != "" && ev.Revision != "") {
			t.Fatalf("%+v, %v", ev, err)
		}
		got = append(got, fmt.Sprint(ev.Type, " ", ev.Key.Name, " ", err != nil))
		if ev.Type == watch.Synced {
			break
		}
	}
	if diff := cmp.Diff([]string{"RESTART  false", "ADDED a false", "ADDED b true", "SYNCED  false"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWatcherReportsListsThatCannotBeWatched: nobody waits for a server in silence
// that says no revision.
func TestWatcherReportsListsThatCannotBeWatched(t *testing.T) {
	const problem = "the list has no resourceVersion: it cannot be watched"
	var traced []string
	trace := watch.Trace{Interrupted: func(i watch.Interruption) { traced = append(traced, fmt.Sprint(i.Attempt, " ", i.Err)) }}
	play(t, watch.Options{Initial: watch.Paged, Trace: trace}, func(t *testing.T, s *story) {
		traced = nil
		s.srv.On(apitest.Match{Verb: "list", Resource: "configmaps"}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`)
		}).Times(2)
		s.start()
		s.pass(time.Minute)
		if diff := cmp.Diff([]string{"1 " + problem, "2 " + problem}, traced); diff != "" {
			t.Errorf("traced (-want +got):\n%s", diff)
		}
		var delivered []string
		for _, err := range s.errs {
			var i *watch.Interruption
			if !errors.As(err, &i) || i.Next != watch.OpList || i.Op != watch.OpList {
				t.Errorf("got %v", err)
				continue
			}
			delivered = append(delivered, fmt.Sprint(i.Attempt, " ", i.Err))
		}
		if diff := cmp.Diff(traced, delivered); diff != "" {
			t.Errorf("got (-want +got):\n%s", diff)
		}
		s.equal()
	})
}

// TestRetryDuringTheReportEndsThePause: the last request did not reach the server, and the
// loop, which is told of that, has not asked for the next one yet.
func TestRetryDuringTheReportEndsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer c.CloseIdleConnections()
		if err := srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		w := watch.New(client.Of[kube.Partial](c, kube.ConfigMaps), watch.Options{Backoff: time.Second, BackoffMax: time.Hour})
		var told time.Time
		for ev, err := range w.Events(t.Context()) {
			cut := (*watch.Interruption)(nil)
			if errors.As(err, &cut) && cut.Wait > time.Minute {
				if err := srv.SetDoor(apitest.Open); err != nil {
					t.Fatal(err)
				}
				told = time.Now()
				w.Retry()
			}
			if ev.Type == watch.Synced {
				break
			}
		}
		if d := time.Since(told); d > time.Second {
			t.Errorf("the next request was sent after %v", d)
		}
	})
}

// TestRetryEndsThePause of a watcher that did not reach the server, and only that: not one
// that the server requested, and not a later one.
func TestRetryEndsThePause(t *testing.T) {
	play(t, watch.Options{Backoff: time.Second, BackoffMax: time.Hour}, func(t *testing.T, s *story) {
		s.put("a", "1")
		s.start()
		s.w.Retry() // there is no pause
		door := func(d apitest.Door) {
			if err := s.srv.SetDoor(d); err != nil {
				t.Fatal(err)
			}
		}
		door(apitest.Refusing)
		s.srv.DropWatches()
		s.pass(8 * time.Hour)
		s.put("a", "2")
		door(apitest.Open)
		s.w.Retry()
		s.pass(time.Second)
		s.equal()

		s.srv.On(apitest.Match{Verb: "watch"}, faults.Throttle("60")).Times(1)
		s.srv.DropWatches()
		s.pass(10 * time.Second)
		s.put("a", "3")
		before := s.count("watch")
		s.w.Retry()
		s.pass(10 * time.Second)
		if n := s.count("watch"); n != before {
			t.Errorf("%d requests in the pause that the server requested", n-before)
		}
		s.pass(5 * time.Minute)
		s.equal()
	})
}
