package cache_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
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
			s.Handle(func(delta) { <-time.After(10 * time.Millisecond) })
			if n%3 == 2 {
				s.Release() // at once
				continue
			}
			takes(t, func(ctx context.Context) error { return s.WaitSynced(ctx) })
			w.put("a", "x", fmt.Sprint(n))
			synctest.Wait() // a handler is busy, so the informer has not ended
			s.Release()
		}
		w.pass(time.Second)
		if n := g.Len(); n != 0 {
			t.Errorf("%d informers are held", n)
		}
	})
}
