package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestInformerGapIsDeliveredOnce: what happened while no watch was open is delivered once
// to each handler, whether it asks for resyncs or not.
func TestInformerGapIsDeliveredOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		i := cache.New(w.maps, options{})
		var plain, again []string
		i.Handle(func(d delta) { plain = append(plain, fmt.Sprint(d.Type, " ", d.Key.Name)) })
		resyncs := 0
		i.Handle(func(d delta) {
			if d.Resync {
				resyncs++
				return
			}
			again = append(again, fmt.Sprint(d.Type, " ", d.Key.Name))
		}).ResyncEvery(10 * time.Second)
		w.run(i.Run)
		synctest.Wait()
		plain, again = nil, nil
		if err := w.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		w.srv.Cut()
		w.put("a", "x", "2")
		w.put("a", "z", "1")
		w.delete("a", "y")
		w.pass(time.Minute)
		if err := w.srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Minute)
		want := []string{"MODIFIED x", "ADDED z", "DELETED y"}
		if diff := cmp.Diff(want, plain) + cmp.Diff(want, again); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if resyncs < 20 {
			t.Errorf("%d resync calls in 3 minutes of 10 s and 2 objects", resyncs)
		}
	})
}

// TestInformerResyncNeverDeliversAnOldState: what changes or goes while a resync runs
// is in it as it is, or not at all.
func TestInformerResyncNeverDeliversAnOldState(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 20 {
			w.put("a", fmt.Sprint("x", n), "1")
		}
		i, v := cache.New(w.maps, options{}), newView(t) // which would complain
		resyncs := 0
		i.Handle(func(d delta) {
			if v.take(d); d.Resync {
				resyncs++
				<-time.After(time.Second)
			}
		}).ResyncEvery(time.Minute)
		w.run(i.Run)
		w.pass(67 * time.Second) // amid it
		if resyncs == 0 || resyncs >= 20 {
			t.Fatalf("%d resync calls: not amid a resync", resyncs)
		}
		for n := range 20 {
			if w.put("a", fmt.Sprint("x", n), "2"); n%2 == 0 {
				w.delete("a", fmt.Sprint("x", n))
			}
		}
		w.pass(40 * time.Second)
		v.is(w.truth())
	})
}

// TestInformerResyncPeriodChanges: it holds from the moment it is set, for that
// handler.
func TestInformerResyncPeriodChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		var calls [3]atomic.Int32
		var handlers [3]*cache.Handler[kube.Partial]
		add := func(n int) {
			handlers[n] = i.Handle(func(d delta) {
				if d.Resync {
					calls[n].Add(1)
				}
			})
		}
		add(0)
		add(1)
		handlers[0].ResyncEvery(time.Hour)
		handlers[1].ResyncEvery(10 * time.Minute)
		w.run(i.Run)
		passes := func(d time.Duration, low, high [3]int32) {
			t.Helper()
			for n := range calls {
				calls[n].Store(0)
			}
			w.pass(d)
			for n := range calls {
				if got := calls[n].Load(); got < low[n] || got > high[n] {
					t.Errorf("in %v handler %d was called %d times, want %d to %d", d, n, got, low[n], high[n])
				}
			}
		}
		passes(30*time.Minute, [3]int32{0, 2, 0}, [3]int32{0, 3, 0})
		handlers[0].ResyncEvery(time.Minute) // from an hour, half of which is over
		passes(10*time.Minute+time.Second, [3]int32{9, 0, 0}, [3]int32{10, 1, 0})
		add(2)
		handlers[2].ResyncEvery(30 * time.Second)
		handlers[1].ResyncEvery(-time.Second) // never
		passes(5*time.Minute+time.Second, [3]int32{4, 0, 9}, [3]int32{5, 0, 10})
		handlers[2].Remove()
		passes(5*time.Minute, [3]int32{4, 0, 0}, [3]int32{5, 0, 0})
	})
}

// TestInformerFromManyGoroutines: it is started, waited for, and handlers come
// and go, all at one time; it runs once.
func TestInformerFromManyGoroutines(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		var starts atomic.Int32
		var busy sync.WaitGroup
		for range 8 {
			w.run(func(ctx context.Context) error {
				if err := i.Run(ctx); errors.Is(err, cache.ErrRunning) {
					starts.Add(1)
				}
				return nil
			})
			busy.Go(func() {
				for range 50 {
					v := newView(t)
					h := i.Handle(v.take)
					h.ResyncEvery(time.Millisecond)
					i.Status()
					h.Remove()
					h.Remove()
				}
				if err := i.WaitSynced(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		for n := range 100 {
			w.put("a", fmt.Sprint("x", n%7), fmt.Sprint(n))
		}
		busy.Wait()
		synctest.Wait() // each Run has begun: busy does not wait for them
		if starts.Load() != 7 {
			t.Errorf("%d of 8 calls of Run were refused, want 7", starts.Load())
		}
		v := newView(t)
		i.Handle(v.take)
		w.pass(time.Minute)
		v.is(w.truth())
	})
}

// TestInformerHandlersMisused: one function twice is two handlers, and one that
// comes when all is over gets what exists.
func TestInformerHandlersMisused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		calls := 0
		count := func(delta) { calls++ }
		first, second := i.Handle(count), i.Handle(count)
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan error)
		go func() { ended <- i.Run(ctx) }()
		synctest.Wait()
		if calls != 2 {
			t.Errorf("%d calls for two handlers, want 2", calls)
		}
		first.Remove()
		first.Remove()
		w.put("a", "x", "2")
		synctest.Wait()
		if calls != 3 {
			t.Errorf("%d calls after one was removed, want 3", calls)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		w.put("a", "x", "3")
		v := newView(t)
		late := i.Handle(v.take)
		v.delivered("ADDED a/x initial")
		late.Remove()
		second.Remove()
		if !closed(late.Synced()) || calls != 3 {
			t.Errorf("synced is %v, %d calls", closed(late.Synced()), calls)
		}
	})
}

// TestInformerRunWaitsForWhatItStarted: when Run returns nobody is called any
// more, though handlers, resyncs and saves were under way.
func TestInformerRunWaitsForWhatItStarted(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 10 {
			w.put("a", fmt.Sprint("x", n), "1")
		}
		i := cache.New(w.maps, options{Snapshot: cache.Snapshot{Path: dir + "/maps", Cluster: "c1", Every: time.Second}})
		under, calls := 0, 0
		i.Handle(func(delta) {
			under++
			calls++
			<-time.After(3 * time.Second)
			under--
		}).ResyncEvery(time.Second)
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			i.Run(ctx)
		}()
		for n := range 8 {
			w.pass(10 * time.Second)
			w.put("a", fmt.Sprint("x", n), "2")
		}
		cancel()
		<-ended
		if under != 0 {
			t.Error("Run returned while a handler was called")
		}
		before := calls
		w.pass(time.Hour)
		if calls != before || before < 10 {
			t.Errorf("%d calls, and %d after Run returned", before, calls-before)
		}
	})
}

// TestInformerPanicOfAHandlerIsNotSwallowed: it comes out of Run, whose goroutine
// calls the handlers.
func TestInformerPanicOfAHandlerIsNotSwallowed(t *testing.T) {
	s := make(script)
	i := cache.From(options{}, s)
	i.Handle(func(delta) { panic("boom") })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var others sync.WaitGroup
	others.Go(func() {
		s <- restart(nil)
		s <- added("a", "u1", "1")
	})
	if v := panics(func() { i.Run(ctx) }); v != "boom" {
		t.Errorf("Run panics with %v, want what the handler did", v)
	}
	others.Wait()
}

// TestInformerBrokenInitialStreamLeavesNoGhost: the first stream breaks off, and
// what it had delivered is gone when the next one begins.
func TestInformerBrokenInitialStreamLeavesNoGhost(t *testing.T) {
	for _, mode := range []watch.Initial{watch.Stream, watch.Paged} {
		t.Run("initial="+string(mode), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				for _, name := range []string{"x", "y", "z"} {
					w.put("a", name, "1")
				}
				w.srv.On(apitest.Match{Verb: "watch", Query: "sendInitialEvents", AfterEvent: 2}, faults.Hangup()).Times(1)
				w.srv.On(apitest.Match{Verb: "list", Query: "continue="}, faults.ExpireContinueForGood()).Times(1)
				i, v := cache.New(w.maps, options{Watch: watch.Options{Initial: mode, Limit: 2}}), newView(t)
				h := i.Handle(v.take)
				w.run(i.Run)
				synctest.Wait()
				if closed(h.Synced()) || v.count() != 2 {
					t.Fatalf("%d of 3 objects were delivered, synced is %v", v.count(), closed(h.Synced()))
				}
				w.delete("a", "x")
				w.put("a", "y", "2")
				w.pass(time.Minute)
				v.delivered("ADDED a/x initial", "ADDED a/y initial", "MODIFIED a/y initial", "ADDED a/z initial", "DELETED a/x inferred")
				v.is(w.truth())
				if !closed(h.Synced()) {
					t.Error("not synced")
				}
			})
		})
	}
}

// TestInformerSlowHandlerIsDroppedAndThenGone: a handler that takes minutes slows
// the reading, so that nothing piles up here; the server drops the watch, forgets
// the history, and the handler still ends up with the truth.
func TestInformerSlowHandlerIsDroppedAndThenGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, apitest.Options{InMemory: true, WatchBuffer: 100, History: 200})
		i, v := cache.New(w.maps, options{}), newView(t)
		stuck := make(chan struct{})
		i.Handle(func(d delta) {
			if v.take(d); d.Key.Name == "stuck" {
				<-stuck
			}
		})
		w.run(i.Run)
		synctest.Wait()
		w.put("a", "stuck", "1")
		synctest.Wait()
		padding := strings.Repeat("x", 16<<10)
		for n := range 400 {
			w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"x%d","annotations":{"n":"%d%s"}}}`, n%100, n, padding))
			if n%10 == 0 {
				synctest.Wait()
			}
		}
		for n := range 50 {
			w.delete("a", fmt.Sprint("x", n))
		}
		w.pass(time.Minute)
		if sent := w.srv.Requests()[0].Events; sent > 150 {
			t.Errorf("the server could send %d of 450 events while the handler was stuck", sent)
		}
		close(stuck)
		w.pass(5 * time.Minute)
		v.is(w.truth())
		if n := w.lists(); n != 2 {
			t.Errorf("%d lists, want the first and one after the history was lost", n)
		}
		w.end()
	})
}

// TestInformerIsReadWithoutTheServer: readers, indexes and late handlers cost no
// request, also while the server is away.
func TestInformerIsReadWithoutTheServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 20 {
			w.put(string(rune('a'+n%2)), fmt.Sprint("x", n), fmt.Sprint(n%3))
		}
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		synctest.Wait()
		if err := w.srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		w.srv.Cut()
		w.pass(time.Hour)
		w.srv.ForgetRequests()
		store := i.Store()
		byNamespace, byLabel := cache.ByNamespace(store), cache.ByLabel(store, "v")
		sel := cache.MatchLabels[kube.Partial](kube.LabelsSelector(map[string]string{"v": "1"}))
		v := newView(t)
		i.Handle(v.take)
		_, ok := store.Get(kube.Key{Namespace: "a", Name: "x0"})
		got := []int{store.Len(), len(store.List("a", nil)), len(store.List("", sel)), byNamespace.Len("b"), byLabel.Len("1"), v.count()}
		if diff := cmp.Diff([]int{20, 10, 7, 10, 7, 20}, got); diff != "" || !ok {
			t.Errorf("found x0 %v, counts (-want +got):\n%s", ok, diff)
		}
		if n := len(w.srv.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestInformerTransformIsSeenByAll: readers and handlers that come amid changes
// never see an object as it came.
func TestInformerTransformIsSeenByAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{Transform: func(o kube.Partial) (kube.Partial, error) {
			o.Labels = nil
			return o, nil
		}})
		look := func(where string, o kube.Partial) {
			if o.Labels != nil {
				t.Errorf("%s has %s as it came", where, kube.KeyOf(o))
			}
		}
		w.put("a", "x0", "0")
		w.run(i.Run)
		var busy sync.WaitGroup
		for range 4 {
			busy.Go(func() {
				for range 50 {
					for _, o := range i.Store().All() {
						look("the store", o)
					}
					i.Handle(func(d delta) {
						look("a delta", d.New)
						look("a delta", d.Old)
					}).Remove()
				}
			})
		}
		for n := range 200 {
			if w.put("a", fmt.Sprint("x", n%7), fmt.Sprint(n)); n%5 == 4 {
				w.delete("a", fmt.Sprint("x", n%7))
			}
		}
		busy.Wait()
		synctest.Wait()
	})
}
