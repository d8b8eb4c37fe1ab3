package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
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
