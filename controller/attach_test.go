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
