package cache_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
)

// TestGroupSnapshotOfWhoCameAgain: whoever asks for an informer just after its last
// holder let go gets one that begins when the one before has ended and saved: both have
// the same snapshot, which is locked.
func TestGroupSnapshotOfWhoCameAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		var g cache.Group
		o := options{Snapshot: cache.Snapshot{Path: filepath.Join(t.TempDir(), "maps"), Cluster: "c"}}
		cache.Shared(&g, w.maps, o).Release() // before the group runs
		for n := range 10 {
			s := cache.Shared(&g, w.maps, o)
			if n == 0 {
				w.run(g.Run)
			}
			s.Handle(func(delta) { <-time.After(10 * time.Second) }) // longer than who wants the lock waits
			if n%3 == 2 {
				s.Release() // at once
				continue
			}
			takes(t, func(ctx context.Context) error { return s.WaitSynced(ctx) })
			w.put("a", "x", fmt.Sprint(n))
			synctest.Wait() // a handler is busy, so the informer has not ended
			s.Release()
		}
		w.pass(time.Minute)
		if n := g.Len(); n != 0 {
			t.Errorf("%d informers are held", n)
		}
	})
}

// TestGroupEndsWhomItDidNotBegin: whoever is asked for while the group waits for the last
// of its informers is not run any more, and says so.
func TestGroupEndsWhomItDidNotBegin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		var g cache.Group
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- g.Run(ctx) }()
		busy := cache.Shared(&g, w.maps, options{})
		takes(t, busy.WaitSynced)
		busy.Handle(func(delta) { <-time.After(time.Minute) })
		w.put("a", "x", "2")
		synctest.Wait() // the handler has been called
		over := errors.New("over")
		cancel(over)
		synctest.Wait()
		late := cache.Shared(&g, w.maps.In("a"), options{})
		if err := <-ended; !errors.Is(err, over) {
			t.Errorf("Run: %v", err)
		}
		for _, s := range []*cache.SharedInformer[kube.Partial]{busy, late} {
			within, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := s.WaitSynced(within); !errors.Is(err, over) {
				t.Errorf("WaitSynced: %v", err)
			}
			cancel()
			if err := s.Ready(); !errors.Is(err, over) {
				t.Errorf("Ready: %v", err)
			}
			s.Release()
		}
	})
}
