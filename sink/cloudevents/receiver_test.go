package cloudevents_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/cloudevents"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// texts returns what a receiver has, in short.
func (r *receiver) texts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []string{}
	for _, rec := range r.records {
		all = append(all, fmt.Sprint(rec.Type, " ", rec.Name, rec.Reason, " ", rec.Epoch))
	}
	return all
}

func steadyReceiver(t *testing.T) (*receiver, *httptest.Server) {
	r, srv := newReceiver(t)
	r.steady = true
	return r, srv
}

// got requires what a receiver has, and forgets it.
func (r *receiver) got(want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.texts()); diff != "" {
		r.t.Errorf("records (-want +got):\n%s", diff)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = nil
}

// gap waits for a GAP.
func (r *receiver) gap(reason string) {
	r.t.Helper()
	r.until("a GAP", func(all []sink.Record) bool {
		return slices.ContainsFunc(all, func(rec sink.Record) bool { return rec.Type == sink.Gap && rec.Reason == reason })
	})
}

// TestAnotherReceiverGetsTheStateOfEachObject: one that comes after the companion was filled
// without it, and one that replaces it. The same one gets nothing again.
func TestAnotherReceiverGetsTheStateOfEachObject(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put("a", "web", "")
			w.Put("b", "web", "")
			db := companion(t)
			stop := run(t, w, db)
			live(t, db)
			stop()
			a, first := steadyReceiver(t)
			w.Delete("b") // while nobody looks
			stop = run(t, w, openWith(t, first.URL, companion(t)))
			a.gap(sink.CauseReceiver)
			stop()
			a.got("MODIFIED a 2", "DELETED b 2", "GAP "+sink.CauseReceiver+" 2")

			w.Put("c", "web", "")
			stop = run(t, w, openWith(t, first.URL+"/", companion(t)))
			a.has(sink.Added, "c")
			stop()
			a.got("ADDED c 2")

			b, second := steadyReceiver(t)
			stop = run(t, w, openWith(t, second.URL, companion(t)))
			b.gap(sink.CauseReceiver)
			stop()
			b.got("MODIFIED a 3", "MODIFIED c 3", "GAP "+sink.CauseReceiver+" 3")
		})
	}
}

// live waits until a companion has one position, which is complete.
func live(t *testing.T, s sink.Reader) {
	t.Helper()
	var all []sink.Position
	soon(t, func() bool {
		var err error
		if all, err = s.Positions(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(all) == 1 && all[0].Phase == sink.Live
	}, func() string { return fmt.Sprintf("positions %+v", all) })
}

// sent waits until the companion of one scope knows that all of its records were sent.
func sent(t *testing.T, s cloudevents.Companion) {
	t.Helper()
	left := -1
	soon(t, func() bool {
		all, err := s.(sink.Reader).Positions(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		records, _, err := s.Unsent(t.Context(), all[0], 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		left = len(records)
		return left == 0
	}, func() string { return fmt.Sprint(left, " records were not sent") })
}

// TestAnotherReceiverOfAListThatHasNotEnded: what was committed of it is not in the next list's
// records, but for the other epoch.
func TestAnotherReceiverOfAListThatHasNotEnded(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put("a", "web", "")
			db := companion(t)
			stop := run(t, w, db)
			live(t, db)
			stop()
			scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
			p, _, err := db.Open(t.Context(), scope)
			if err != nil {
				t.Fatal(err)
			}
			p.Sequence++
			p.Phase, p.Revision = sink.Loading, ""
			if err := db.Commit(t.Context(), nil, p); err != nil {
				t.Fatal(err)
			}
			a, srv := steadyReceiver(t)
			stop = run(t, w, openWith(t, srv.URL, db))
			a.gap(sink.CauseReceiver)
			stop()
			a.got("MODIFIED a 2", "GAP "+sink.CauseReceiver+" 2")
		})
	}
}

// pruner removes records of the history.
type pruner interface {
	Prune(ctx context.Context, before time.Time, limit int) (int64, error)
}

// TestWhatIsPrunedBeforeItWasSent: the receiver gets the state of each object again, also where
// the process goes on. What was sent is pruned without that.
func TestWhatIsPrunedBeforeItWasSent(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Put("a", "web", "")
			a, srv := steadyReceiver(t)
			stop := run(t, w, openWith(t, srv.URL, companion(t)))
			a.has(sink.Added, "a")
			prune := func() {
				t.Helper()
				live(t, companion(t))
				n, err := companion(t).(pruner).Prune(t.Context(), time.Now().Add(48*time.Hour), 1000)
				if n == 0 || err != nil {
					t.Fatalf("%d removed, error %v", n, err)
				}
			}
			live(t, companion(t))
			sent(t, companion(t))
			prune()
			w.Put("b", "web", "")
			a.has(sink.Added, "b")
			a.got("ADDED a 1", "ADDED b 1")
			a.mu.Lock()
			a.mute = true
			a.mu.Unlock()
			w.Put("c", "web", "")
			a.has(sink.Added, "c")
			prune() // of which the companion does not know that it was sent
			a.mu.Lock()
			a.mute = false
			a.mu.Unlock()
			a.gap(sink.CauseReceiver)
			stop()
			a.got("ADDED c 1", "MODIFIED a 2", "MODIFIED b 2", "MODIFIED c 2", "GAP "+sink.CauseReceiver+" 2")
		})
	}
}

// TestSentAfterThePruningOfWhatFollows: the mark says nothing then of what was removed.
func TestSentAfterThePruningOfWhatFollows(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			s := companion(t)
			p := fill(t, s, sink.Scope{Cluster: "c", Resource: sinktest.Resource}, 10)
			other := fill(t, s, sink.Scope{Cluster: "c", Resource: kube.Pods}, 0)
			if _, err := s.(pruner).Prune(t.Context(), time.Now().Add(48*time.Hour), 5); err != nil {
				t.Fatal(err)
			}
			if err := s.Sent(t.Context(), p, "http://a/", 1000); err == nil {
				t.Error("the mark passes what was removed")
			}
			if err := s.Sent(t.Context(), other, "http://a/", 1000); err != nil {
				t.Errorf("another scope: %v", err)
			}
		})
	}
}

// TestReshardOfACompanion: where all was sent, the receiver gets what follows; otherwise the
// state of each object.
func TestReshardOfACompanion(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			s, scope := companion(t), sink.Scope{Cluster: "c", Resource: sinktest.Resource}
			p := fill(t, s, scope, 3)
			reshard := func(shards int) sink.Position {
				t.Helper()
				if err := s.(sink.Resharder).Reshard(t.Context(), "c", scope.Resource, shards); err != nil {
					t.Fatal(err)
				}
				scope.Shards = shards
				next, _, err := s.Open(t.Context(), scope)
				if err == nil {
					next, err = s.Address(t.Context(), next, "http://a/")
				}
				if err != nil {
					t.Fatal(err)
				}
				return next
			}
			_, numbers, err := s.Unsent(t.Context(), p, 1<<20)
			if err != nil || len(numbers) != 3 {
				t.Fatalf("%d records, error %v", len(numbers), err)
			}
			if err := s.Sent(t.Context(), p, "http://a/", numbers[2]); err != nil {
				t.Fatal(err)
			}
			if p = reshard(2); p.Epoch != 1 || p.Phase != sink.Live {
				t.Errorf("position %+v, want it as it was", p)
			}
			if records, _, err := s.Unsent(t.Context(), p, 1<<20); err != nil || len(records) != 0 {
				t.Errorf("%d records are not sent, error %v", len(records), err)
			}
			p.Sequence++
			p.Time = time.Now()
			rec := sink.Record{ID: "d", Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: "d", UID: "d", Revision: "2", Epoch: 1, Phase: sink.Live, Time: p.Time}
			if err := s.Commit(t.Context(), []sink.Record{rec}, p); err != nil {
				t.Fatal(err)
			}
			if p = reshard(1); p.Epoch < 2 || p.Phase != sink.Loading {
				t.Errorf("position %+v, want that of another receiver", p)
			}
		})
	}
}

// TestReplacedProcessPostsNoMore: a server that refuses does not keep it from seeing that another
// process has opened the scope.
func TestReplacedProcessPostsNoMore(t *testing.T) {
	posted := make(chan bool, 1)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		select {
		case posted <- true:
		default:
		}
	}))
	t.Cleanup(down.Close)
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			db, scope := companion(t), sink.Scope{Cluster: "c", Resource: sinktest.Resource}
			s := openWith(t, down.URL, db)
			p, _, err := s.Open(t.Context(), scope)
			if err != nil {
				t.Fatal(err)
			}
			p.Sequence++
			p.Time = time.Now()
			done := make(chan error, 1)
			go func() {
				rec := sink.Record{ID: "a", Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: "a", UID: "a", Revision: "1", Epoch: 1, Phase: sink.Live, Time: p.Time}
				done <- s.Commit(t.Context(), []sink.Record{rec}, p)
			}()
			<-posted
			_, up := steadyReceiver(t)
			if _, _, err := openWith(t, up.URL, db).Open(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, sink.ErrFenced) {
				t.Errorf("error %v, want ErrFenced", err)
			}
		})
	}
}
