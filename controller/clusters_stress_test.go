package controller_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestClustersComeAndGo: clusters are engaged and removed from many goroutines, before,
// while and after Run runs; each Remove returns, no cluster is left, and nothing leaks.
func TestClustersComeAndGo(t *testing.T) {
	for seed := range uint64(4) {
		run(t, func(t *testing.T, w *world) {
			f := newFleet(t, w, "eu", "us", "asia")
			names := []string{"eu", "us", "asia"}
			for _, name := range names {
				f.putIn(name, "x", "1")
			}
			var all sync.WaitGroup
			for n := range 4 {
				all.Go(func() {
					random := rand.New(rand.NewPCG(seed, uint64(n)))
					for range 40 {
						name := names[random.IntN(3)]
						switch random.IntN(4) {
						case 0:
							_ = f.clusters.Engage(name, f.clients[name])
						case 1:
							if err := f.clusters.Remove(t.Context(), name); err != nil {
								t.Error(err)
							}
						case 2:
							f.clusters.Status()
							f.clusters.Get(name)
						default:
							<-time.After(time.Duration(random.IntN(100)) * time.Millisecond)
						}
					}
				})
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(100+500*seed)*time.Millisecond)
			defer cancel()
			stop := f.run(t, f.ctl)
			<-time.After(50 * time.Millisecond)
			_ = f.clusters.Run(ctx)
			all.Wait()
			for _, name := range names {
				if err := f.clusters.Remove(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
			if left := f.clusters.Status(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			stop()
		})
	}
}
