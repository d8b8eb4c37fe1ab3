package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// looks counts how often a call waits for its context, each time that it wakes and goes on.
type looks struct {
	context.Context
	n *atomic.Int32
}

func (c looks) Done() <-chan struct{} {
	c.n.Add(1)
	return c.Context.Done()
}

// TestWaitSyncedSleepsUntilSynced: the first list has many objects, and none is what it
// waits for; WaitRevision beside it, which wakes at each event, does not change that it returns.
func TestWaitSyncedSleepsUntilSynced(t *testing.T) {
	inScript(t, func(t *testing.T, s *scripted) {
		synced := func(n *atomic.Int32) func() bool {
			return s.returns(func(ctx context.Context) error { return s.WaitSynced(looks{ctx, n}) })
		}
		object := func(i int) kube.Partial {
			return kube.Partial{Meta: kube.Meta{Namespace: "a", Name: fmt.Sprint("x", i), UID: fmt.Sprint(i), ResourceVersion: "2"}}
		}
		var alone, beside atomic.Int32
		first := synced(&alone)
		s.send(watch.Restart, "", nil)
		for i := range 100 {
			s.object(watch.Added, object(i))
		}
		if n := alone.Load(); first() || n > 1 {
			t.Errorf("it returned: %t; it waited %d times, want once", first(), n)
		}
		at := s.returns(func(ctx context.Context) error { return s.WaitRevision(ctx, "4") })
		second := synced(&beside)
		s.object(watch.Added, object(100))
		if at() || first() || second() {
			t.Error("one returned before the informer was synced")
		}
		s.send(watch.Synced, "3", nil)
		if !first() || !second() || at() {
			t.Errorf("synced: %t %t, want both; at a revision to come: %t", first(), second(), at())
		}
		s.send(watch.Bookmark, "4", nil)
		if !at() {
			t.Error("WaitRevision did not return when the revision came")
		}
	})
}
