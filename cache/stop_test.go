package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// start runs i until stop is called, which waits for its end.
func (w *world) start(i *informer) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// write changes an object of a few, deletes it, or replaces it.
func (w *world) write(rnd *rand.Rand, names int) {
	name := fmt.Sprint("x", rnd.IntN(names))
	switch rnd.IntN(8) {
	case 0:
		w.delete("a", name)
	case 1:
		w.delete("a", name)
		w.put("a", name, fmt.Sprint(rnd.Int()))
	default:
		w.put("a", name, fmt.Sprint(rnd.Int()))
	}
}

// TestInformerStopAmidABurst: the loop is left at the first event that was not
// applied, so a snapshot holds no more and no less than handlers returned from.
func TestInformerStopAmidABurst(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		rnd := rand.New(rand.NewPCG(1, 1))
		l := newLedger(t, "ledger", w.uidOf)
		for life := range 20 {
			i := cache.New(w.maps, options{
				Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"},
				OnError:  func(err error) { t.Error(err) },
			})
			l.begin(life == 0)
			i.Handle(l.slowly(200 * time.Microsecond))
			stop := w.start(i)
			if err := i.WaitSynced(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for range 200 {
				w.write(rnd, 100)
			}
			<-time.After(time.Duration(rnd.IntN(40)) * time.Millisecond)
			stop()
		}
		i := cache.New(w.maps, options{Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}})
		l.begin(false)
		i.Handle(l.take)
		w.run(i.Run)
		w.pass(time.Minute)
		l.settled(i.Store(), w.truth())
	})
}

// TestInformerStopAmidAList: a list that was not applied as a whole deletes nothing.
func TestInformerStopAmidAList(t *testing.T) {
	dice := newDice(t)
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 100 {
			w.put("a", fmt.Sprint("x", n), "1")
		}
		for life := range 20 {
			l := newLedger(t, "ledger", w.uidOf)
			i := cache.New(w.maps, options{})
			i.Handle(l.slowly(200 * time.Microsecond))
			stop := w.start(i)
			if err := i.WaitSynced(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.srv.SetDoor(apitest.Refusing); err != nil {
				t.Fatal(err)
			}
			w.srv.Cut()
			for n := range 100 {
				w.put("a", fmt.Sprint("x", n), fmt.Sprint(life))
			}
			w.srv.Expire()
			if err := w.srv.SetDoor(apitest.Open); err != nil {
				t.Fatal(err)
			}
			amid := make(chan struct{}, 1)
			i.Handle(func(d delta) {
				if d.Inferred {
					select {
					case amid <- struct{}{}:
					default:
					}
				}
			})
			<-amid
			<-time.After(time.Duration(dice.IntN(2000)) * time.Microsecond)
			stop()
		}
	})
}

// TestChangesEndWithTheirContext: however much waits, and whatever goes on.
func TestChangesEndWithTheirContext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 100 {
			w.put("a", fmt.Sprint("x", n), "1")
		}
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		calls := 0
		for range i.Changes(ctx, cache.FIFOOptions{}) {
			if calls++; calls == 3 {
				cancel()
			}
			if calls > 3 {
				t.Fatalf("call %d after the context was done", calls)
			}
			w.pass(time.Second)
		}
	})
}

// source yields Added events of one namespace, each after a pause, whatever its context.
type source struct {
	namespace string
	pause     time.Duration
}

func (s source) Events(context.Context) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		defer func() { <-time.After(s.pause) }() // its end takes as long
		for n := range 50 {
			<-time.After(s.pause)
			o := kube.Partial{Meta: kube.Meta{Namespace: s.namespace, Name: fmt.Sprint("x", n)}}
			if !yield(event{Type: watch.Added, Key: kube.KeyOf(o), Object: o}, nil) {
				return
			}
		}
	}
}

// TestInformerAppliesNothingAfterItsEnd: its context is done, or a handler did not return,
// and an event of another source waits.
func TestInformerAppliesNothingAfterItsEnd(t *testing.T) {
	for name, leave := range map[string]func(cancel func()){
		"its context is done":      func(cancel func()) { cancel() },
		"a handler did not return": func(func()) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // whoever waits may be next
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					i := cache.From(options{}, source{"a", time.Second}, source{"b", 3 * time.Second})
					over := false
					i.Handle(func(d delta) {
						if over {
							t.Errorf("a call with %s after the end", d.Key)
						}
						if d.Key.Namespace == "b" {
							over = true
							<-time.After(2 * time.Second)
							leave(cancel)
						}
					})
					i.Run(ctx)
				})
			}
		})
	}
}

// TestWaitsEndWithTheInformer: they do not wait until their own context ends.
func TestWaitsEndWithTheInformer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.srv.Deny("", apitest.Match{Verb: "list"})
		w.srv.Deny("", apitest.Match{Verb: "watch"})
		i := cache.New(w.maps, options{})
		stop := w.start(i)
		waits := make(chan error)
		go func() { waits <- i.WaitSynced(context.Background()) }()
		synctest.Wait()
		stop()
		if err := <-waits; !errors.Is(err, context.Canceled) {
			t.Errorf("WaitSynced returned %v", err)
		}
	})
}

// heavy is an object that takes long to encode, as a large snapshot does.
type heavy struct{ kube.Partial }

var encoding atomic.Int64 // a time.Duration, for the next objects

func (h heavy) MarshalJSON() ([]byte, error) {
	<-time.After(time.Duration(encoding.Load()))
	return json.Marshal(h.Partial)
}

func (h *heavy) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &h.Partial) }

// TestInformerStopAmidASnapshot: the last state is saved after the one that is being
// saved, and not before it.
func TestInformerStopAmidASnapshot(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		live := func() (i *cache.Informer[heavy], stop func()) {
			i = cache.New(client.Of[heavy](w.client, kube.ConfigMaps), cache.Options[heavy]{
				Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Minute},
			})
			ctx, cancel := context.WithCancel(w.ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				i.Run(ctx)
			}()
			synctest.Wait()
			return i, func() {
				cancel()
				<-ended
			}
		}
		w.put("a", "x", "1")
		_, stop := live()
		encoding.Store(int64(10 * time.Second))
		w.pass(time.Minute + time.Second) // it is being saved
		encoding.Store(0)
		w.put("a", "y", "1")
		synctest.Wait()
		stop()
		w.pass(time.Minute)
		w.srv.Down(apitest.Refusing, time.Hour)

		i, stop := live()
		if n := i.Store().Len(); n != 2 {
			t.Errorf("%d objects were saved, want 2", n)
		}
		stop()
	})
}
