package cache_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// A kilobyte of labels makes an object that takes about as much.
func (w *world) putLarge(ns, name string) {
	w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"annotations":{"a":%q}}}`, ns, name, strings.Repeat("x", 1000)))
}

func TestBudgetIsWhatTheObjectsTake(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		budget := cache.NewBudget(1 << 20)
		i := cache.New(client.Of[codec.Raw](w.client, kube.ConfigMaps), cache.Options[codec.Raw]{Budget: budget})
		w.run(i.Run)
		measure := codec.SizerOf[codec.Raw]()
		check := func(what string) {
			t.Helper()
			synctest.Wait()
			want := int64(0)
			for _, o := range i.Store().All() {
				want += int64(measure(o)) + 160
			}
			if got := budget.Used(); got != want {
				t.Errorf("%s: %d bytes are used, want %d", what, got, want)
			}
			if got := i.Status().Bytes; got != want {
				t.Errorf("%s: the informer has %d bytes, want %d", what, got, want)
			}
		}
		check("nothing")
		for n := range 10 {
			w.putLarge("a", fmt.Sprint(n))
		}
		check("ten")
		w.put("a", "3", "small")
		w.delete("a", "4")
		check("one smaller, one gone")
		w.srv.DropWatches()
		w.delete("a", "5")
		w.put("a", "6", "small")
		w.srv.Expire()
		w.pass(time.Minute)
		check("after a relist")
		w.cancel()
		synctest.Wait()
		if got := budget.Used(); got != 0 {
			t.Errorf("%d bytes are used after the end", got)
		}
	})
}

// TestBudgetEndsOnlyTheInformerThatNeedsMore: the store of that one stays as it
// was, and its bytes are free again.
func TestBudgetEndsOnlyTheInformerThatNeedsMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		group := cache.Group{Budget: cache.NewBudget(10_000)}
		w.run(group.Run)
		for n := range 5 {
			w.put("small", fmt.Sprint(n), "1")
		}
		small := cache.Shared(&group, w.maps.In("small"), options{})
		defer small.Release()
		large := cache.Shared(&group, w.maps.In("large"), options{})
		defer large.Release()
		for _, i := range []*cache.SharedInformer[kube.Partial]{small, large} {
			if err := i.WaitSynced(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		smalls := group.Budget.Used()
		for n := range 20 {
			w.putLarge("large", fmt.Sprint(n))
		}
		err := large.WaitRevision(t.Context(), w.srv.Revision())
		var over *cache.BudgetError
		if !errors.As(err, &over) {
			t.Fatalf("got %v, want a BudgetError", err)
		}
		if over.Limit != 10_000 || over.Used+over.Needs <= over.Limit || over.Held != over.Used-smalls || over.Key.Namespace != "large" {
			t.Errorf("got %+v", over)
		}
		if n := large.Store().Len(); n == 0 || n > 10 {
			t.Errorf("%d objects are in the store that was full", n)
		}
		if used := group.Budget.Used(); used != smalls {
			t.Errorf("%d bytes are used after the end, want %d", used, smalls)
		}
		w.put("small", "more", "1")
		if err := small.WaitRevision(t.Context(), w.srv.Revision()); err != nil {
			t.Errorf("the other one: %v", err)
		}
	})
}

// TestBudgetCountsObjectsThatCannotBeRead: their keys stay in memory, and a server can
// send as many as it wants.
func TestBudgetCountsObjectsThatCannotBeRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		budget := cache.NewBudget(10_000)
		i := cache.New(w.maps, options{Budget: budget, Transform: func(o kube.Partial) (kube.Partial, error) {
			return o, errors.New("a bug")
		}})
		ended := make(chan error, 1)
		go func() { ended <- i.Run(w.ctx) }()
		for n := range 20 {
			w.put("a", fmt.Sprintf("%02d", n), "1")
		}
		synctest.Wait()
		used, state := budget.Used(), int64(160+len("a")+len("00")+len("100"))
		if used < 20*(state-1) || used > 20*state {
			t.Errorf("%d bytes are used for 20 objects that cannot be read, want some %d", used, 20*state)
		}
		w.put("a", "07", "2")
		w.delete("a", "08")
		w.srv.DropWatches()
		w.delete("a", "09")
		w.srv.Expire()
		w.pass(time.Minute)
		if now := budget.Used(); now < 18*(state-1) || now > 18*state {
			t.Errorf("%d bytes are used for 18 of them, want some %d", now, 18*state)
		}
		for n := range 100 {
			w.put("b", fmt.Sprint(n), "1")
		}
		synctest.Wait()
		select {
		case err := <-ended:
			over := (*cache.BudgetError)(nil)
			if !errors.As(err, &over) || over.Key.Namespace != "b" || over.Used+over.Needs <= over.Limit {
				t.Errorf("got %v, want a BudgetError", err)
			}
		default:
			t.Errorf("it runs on with %d bytes", budget.Used())
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("%d bytes are used after the end", used)
		}
	})
}

func TestBudgetRefusesASnapshotThatIsTooLarge(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		for n := range 20 {
			w.putLarge("a", fmt.Sprint(n))
		}
		_, stop := w.lives(snapshot, newView(t), func(err error) { t.Error(err) })
		stop()
		budget := cache.NewBudget(10_000)
		i := cache.New(w.maps, options{Snapshot: snapshot, Budget: budget})
		err := i.Run(t.Context())
		if over := (*cache.BudgetError)(nil); !errors.As(err, &over) {
			t.Errorf("got %v, want a BudgetError", err)
		}
		if budget.Used() != 0 {
			t.Errorf("%d bytes are used after the end", budget.Used())
		}
	})
}

func TestStatusReportsHowFarHandlersAreBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := cache.New(w.maps, options{})
		release := make(chan struct{})
		i.Handle(func(delta) { <-release })
		w.run(i.Run)
		w.pass(time.Minute)
		if lag := i.Status().Lag; lag != 0 {
			t.Errorf("a lag of %v where nothing waits", lag)
		}
		w.put("a", "x", "1")
		w.pass(7 * time.Second)
		if lag := i.Status().Lag; lag != 7*time.Second {
			t.Errorf("a lag of %v after 7 s in a handler", lag)
		}
		release <- struct{}{}
		synctest.Wait()
		if lag := i.Status().Lag; lag != 0 {
			t.Errorf("a lag of %v afterwards", lag)
		}
	})
}
