package cache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestChangesAcrossARelist: a consumer that is busy while the collection changes,
// the history is lost and the collection is listed again. What waits for it is in
// the end what it needs: the deletion of what it knows, of what came back under
// the same name, and of what it never received except through the queue.
func TestChangesAcrossARelist(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		t.Run(fmt.Sprint("cancel=", cancels), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				for _, name := range []string{"changed", "gone", "same"} {
					w.put("a", name, "1")
				}
				i, v, busy := cache.New(w.maps, options{}), newView(t), make(chan struct{})
				var last []delta
				w.run(i.Run)
				w.run(func(ctx context.Context) error {
					for d := range i.Changes(ctx, cache.FIFOOptions{Cancel: cancels}) {
						if v.take(d); d.Key.Name == "marker" {
							<-busy
						}
						last = append(last, d)
					}
					return nil
				})
				synctest.Wait()
				w.put("a", "marker", "1")
				synctest.Wait()
				v.log, last = nil, nil
				w.delete("a", "same")   // its deletion waits, and it comes back below
				w.put("a", "gone", "2") // waits
				w.put("a", "short", "1")
				w.put("a", "changed", "2")
				synctest.Wait()
				if err := w.srv.SetDoor(apitest.Refusing); err != nil {
					t.Fatal(err)
				}
				w.srv.Cut()
				w.put("a", "same", "1")
				w.delete("a", "gone")
				w.delete("a", "short") // only the queue has it
				w.put("a", "changed", "3")
				w.srv.Expire()
				if err := w.srv.SetDoor(apitest.Open); err != nil {
					t.Fatal(err)
				}
				w.pass(2 * time.Minute)
				close(busy)
				synctest.Wait()
				short := []string{"ADDED a/short", "DELETED a/short inferred"}
				if cancels {
					short = nil
				}
				want := append([]string{"DELETED a/same", "ADDED a/same inferred", "DELETED a/gone inferred"}, short...)
				v.delivered(append(want, "MODIFIED a/changed inferred")...)
				v.is(w.truth())
				for _, d := range last {
					if d.Key.Name == "gone" && (d.Old.Labels["v"] != "1" || d.New.Labels["v"] != "2") {
						t.Errorf("the deletion is delivered from %v to %v, want from what was seen to the last state known", d.Old.Labels, d.New.Labels)
					}
				}
			})
		})
	}
}

// TestDeltaFIFOPop: it is of one object, it ends with its context, and what waits
// comes out before that is looked at.
func TestDeltaFIFOPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		var got []string
		ended := make(chan error)
		go func() {
			for {
				deltas, err := q.Pop(ctx)
				if err != nil {
					ended <- err
					return
				}
				for _, d := range deltas {
					if d.Key != deltas[0].Key {
						t.Errorf("%s and %s come out together", deltas[0].Key, d.Key)
					}
					got = append(got, fmt.Sprint(d.Type, " ", d.Key.Name))
				}
			}
		}()
		synctest.Wait() // it waits
		s := cache.NewStore[kube.Partial]()
		push := func(events ...event) {
			for _, ev := range events {
				for _, d := range s.Apply(ev) {
					q.Push(d)
				}
			}
			synctest.Wait()
		}
		push(added("a", "u1", "1"), live(watch.Deleted, "a", "u1", "2"), added("b", "u2", "3"), added("a", "u3", "4"))
		push(live(watch.Deleted, "b", "u2", "5"))
		slices.Sort(got)
		if diff := cmp.Diff([]string{"ADDED a", "ADDED a", "ADDED b", "DELETED a", "DELETED b"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		cancel(cause)
		if err := <-ended; err != cause {
			t.Errorf("Pop returned %v, want the cause", err)
		}
		push(added("c", "u4", "6"))
		if d, err := q.Pop(ctx); err != nil || len(d) != 1 {
			t.Errorf("with a context that is done Pop returned %d deltas and %v, want what waits", len(d), err)
		}
		if _, err := q.Pop(ctx); err != cause {
			t.Errorf("and then %v, want the cause", err)
		}
	})
}

// TestDeltaFIFOKeepsWhatIsKnownOfADelta: what is folded into another does not
// take away that something was inferred, or initial.
func TestDeltaFIFOKeepsWhatIsKnownOfADelta(t *testing.T) {
	q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{})
	s := cache.NewStore[kube.Partial]()
	for _, ev := range []event{
		restart(nil), added("a", "u1", "1"), added("b", "u2", "2"), synced("3"),
		restart(kube.ErrGone), added("a", "u1", "5"), added("c", "u3", "6"), synced("7"),
		live(watch.Modified, "a", "u1", "8"), live(watch.Modified, "c", "u3", "9"),
	} {
		for _, d := range s.Apply(ev) {
			q.Push(d)
		}
	}
	var got []string
	for q.Len() > 0 {
		deltas, err := q.Pop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range deltas {
			got = append(got, line(d))
		}
	}
	want := []string{"ADDED a u1@8 initial inferred", "ADDED b u2@2 initial", "DELETED b u2@7 was 2 inferred", "ADDED c u3@9 inferred"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStoreRevisionMoves with the events that it got, and stands still while a list is
// delivered, which is in no order.
func TestStoreRevisionMoves(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	steps := []struct {
		ev   event
		want kube.Revision
	}{
		{restart(nil), ""}, {added("a", "u1", "5"), ""}, {added("b", "u2", "3"), ""}, {synced("6"), "6"},
		{added("c", "u3", "7"), "7"}, {live(watch.Modified, "a", "u1", "8"), "8"}, {live(watch.Deleted, "b", "u2", "9"), "9"},
		{event{Type: watch.Bookmark, Revision: "12"}, "12"}, {live(watch.Deleted, "never seen", "u4", "13"), "13"},
		{restart(kube.ErrGone), "13"}, {added("a", "u1", "20"), "13"}, {restart(kube.ErrGone), "13"}, {synced("22"), "22"},
		{restart(watch.ErrAhead), "22"}, {synced("4"), "4"}, // a restored server
	}
	for n, step := range steps {
		if s.Apply(step.ev); s.Revision() != step.want {
			t.Errorf("after %d events the revision is %q, want %q", n+1, s.Revision(), step.want)
		}
	}
	s.Quarantine(live(watch.Modified, "a", "u1", "30"))
	if s.Revision() != "30" {
		t.Errorf("after an object that does not decode the revision is %q, want 30", s.Revision())
	}
}

// script is a source of events that are given.
type script chan event

func (s script) Events(ctx context.Context) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for {
			select {
			case ev := <-s:
				if !yield(ev, nil) {
					return
				}
			case <-ctx.Done():
				yield(event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// TestInformerSyncedTruth: an informer, and each handler, is synced when and only
// when every source has delivered a whole list.
func TestInformerSyncedTruth(t *testing.T) {
	type delivered struct {
		source int
		event
	}
	a, b := added("a", "u1", "5"), added("b", "u2", "6")
	tests := []struct {
		name    string
		sources int
		events  []delivered
		want    bool
	}{
		{"nothing was delivered", 1, nil, false},
		{"a list has begun", 1, []delivered{{0, restart(nil)}}, false},
		{"a list is being delivered", 1, []delivered{{0, restart(nil)}, {0, a}, {0, b}}, false},
		{"an empty list", 1, []delivered{{0, restart(nil)}, {0, synced("5")}}, true},
		{"a list", 1, []delivered{{0, restart(nil)}, {0, a}, {0, synced("5")}}, true},
		{"news without a list", 1, []delivered{{0, a}, {0, live(watch.Deleted, "a", "u1", "7")}}, false},
		{"a bookmark without a list", 1, []delivered{{0, event{Type: watch.Bookmark, Revision: "9"}}}, false},
		{"a deletion amid the list", 1, []delivered{{0, restart(nil)}, {0, a}, {0, live(watch.Deleted, "a", "u1", "7")}}, false},
		{"and its end", 1, []delivered{{0, restart(nil)}, {0, a}, {0, live(watch.Deleted, "a", "u1", "7")}, {0, synced("8")}}, true},
		{"a list that broke off", 1, []delivered{{0, restart(nil)}, {0, a}, {0, restart(kube.ErrGone)}}, false},
		{"and was delivered again", 1, []delivered{{0, restart(nil)}, {0, a}, {0, restart(kube.ErrGone)}, {0, synced("8")}}, true},
		{"a second list under way", 1, []delivered{{0, restart(nil)}, {0, synced("5")}, {0, restart(kube.ErrGone)}, {0, a}}, true},
		{"one source of two", 2, []delivered{{0, restart(nil)}, {1, restart(nil)}, {0, synced("5")}}, false},
		{"one source twice", 2, []delivered{{0, restart(nil)}, {0, synced("5")}, {0, restart(nil)}, {0, synced("6")}}, false},
		{"both", 2, []delivered{{0, restart(nil)}, {0, synced("5")}, {1, restart(nil)}, {1, b}, {1, synced("6")}}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var scripts []script
				var sources []cache.Source[kube.Partial]
				for range tt.sources {
					scripts = append(scripts, make(script))
					sources = append(sources, scripts[len(scripts)-1])
				}
				i := cache.From(options{}, sources...)
				early := i.Handle(newView(t).take)
				w.run(i.Run)
				waited := false
				w.run(func(ctx context.Context) error {
					waited = i.WaitSynced(ctx) == nil
					return nil
				})
				for _, ev := range tt.events {
					scripts[ev.source] <- ev.event
					synctest.Wait()
				}
				late := i.Handle(newView(t).take)
				synctest.Wait()
				got := []bool{i.Store().Synced(), i.Status().Synced, waited, closed(early.Synced()), closed(late.Synced())}
				if want := slices.Repeat([]bool{tt.want}, 5); !slices.Equal(got, want) {
					t.Errorf("store, status, WaitSynced, early and late handler: %v, want %v", got, want)
				}
			})
		})
	}
}

// TestInformerKeepsTheOrderOfTheServer: over all objects, and the same for all
// handlers.
func TestInformerKeepsTheOrderOfTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		synctest.Wait()
		var got [3][]kube.Revision
		for n := range got {
			i.Handle(func(d delta) { got[n] = append(got[n], d.Revision) })
		}
		var want []kube.Revision
		for n := range 500 {
			name := fmt.Sprint("x", n*n%17)
			if n%5 == 4 {
				if rv := w.srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: name}); rv != "" {
					want = append(want, rv)
				}
				continue
			}
			w.put("a", name, fmt.Sprint(n))
			want = append(want, w.srv.Revision())
			if n%50 == 0 {
				w.srv.CutWatches()
			}
		}
		w.pass(time.Minute)
		for n := range got {
			if diff := cmp.Diff(want, got[n]); diff != "" {
				t.Errorf("handler %d (-want +got):\n%s", n, diff)
			}
		}
	})
}

// TestInformerDeliversOnlyWhatIsStored: of an object whose transformation fails no
// handler gets, but its deletion is delivered if it was known.
func TestInformerDeliversOnlyWhatIsStored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{Transform: func(o kube.Partial) (kube.Partial, error) {
			if o.Labels["v"] == "bad" {
				return o, errors.New("not this one")
			}
			return o, nil
		}})
		v := newView(t)
		i.Handle(v.take)
		w.put("a", "x", "bad")
		w.put("a", "y", "1")
		w.run(i.Run)
		synctest.Wait()
		w.put("a", "y", "bad")
		w.put("a", "z", "1")
		w.put("a", "x", "2")
		synctest.Wait()
		v.delivered("ADDED a/y initial", "ADDED a/z", "ADDED a/x")
		v.is(stateOf(i.Store()))
		w.delete("a", "y") // as bad as it was
		synctest.Wait()
		v.delivered("DELETED a/y")
		v.is(w.truth())
	})
}
