package cache_test

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
)

// TestInformerResyncOfAllTime: the longest period is no short one.
func TestInformerResyncOfAllTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		i := cache.New(w.maps, options{})
		var resyncs atomic.Int32
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, 1 << 62, math.MinInt64} {
			i.Handle(func(d delta) {
				if d.Resync && resyncs.Add(1) > 1000 {
					t.Error("it resyncs all the time")
					w.cancel()
				}
			}).ResyncEvery(d)
		}
		w.run(i.Run)
		w.pass(24 * time.Hour)
		if n := resyncs.Load(); n > 0 {
			t.Errorf("%d resyncs", n)
		}
	})
}
