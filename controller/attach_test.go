package controller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// What a controller added to its inputs is gone when it has ended.
func TestControllerLeavesNoHandlers(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		calls := 0
		count := func(o configMap) []kube.Key { calls++; return nil }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = w.maps.Run(ctx) }()
		for range 3 {
			c := noting(w, controller.Options[kube.Key]{})
			controller.Map(c, w.maps, count)
			leads, resign := context.WithTimeout(ctx, time.Minute)
			time.AfterFunc(30*time.Second, func() { controller.Map(c, w.maps, count) })
			if err := c.Run(leads); err != nil {
				t.Errorf("Run: %v", err)
			}
			resign()
		}
		w.put("x", "1")
		synctest.Wait()
		if calls != 0 {
			t.Errorf("%d handlers are still there", calls)
		}
		cancel()
		synctest.Wait()
	})
}

// TestControllerThatHasEndedKeepsNoKeys: others may still add them.
func TestControllerThatHasEndedKeepsNoKeys(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		c := noting(w, controller.Options[kube.Key]{})
		stop := w.run(t, c)
		c.Queue().AddAfter(kube.Key{Name: "before"}, time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		c.Queue().Add(kube.Key{Name: "after"})
		c.Queue().AddAfter(kube.Key{Name: "later"}, time.Hour)
		if s := c.Stats().Queue; s.Depth+s.Delayed != 0 {
			t.Errorf("the queue has keys: %+v", s)
		}
	})
}
