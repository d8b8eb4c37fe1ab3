package controller_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/controller"
)

// TestClustersRemoveWaits: each of two calls at a time returns when the informers of the
// cluster have ended, which wait for a handler.
func TestClustersRemoveWaits(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		f := newFleet(t, w, "eu")
		f.run(t, f.clusters)
		f.engage(t, "eu")
		synctest.Wait()
		eu, _ := f.clusters.Get("eu")
		ended := false
		eu.maps.Handle(func(cache.Delta[configMap]) {
			<-time.After(time.Minute)
			ended = true
		})
		f.putIn("eu", "x", "1")
		synctest.Wait()
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				if err := f.clusters.Remove(t.Context(), "eu"); err != nil {
					t.Error(err)
				}
				if !ended {
					t.Error("Remove returned before the informers have ended")
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		f.engage(t, "eu") // the name is free
	})
}

// TestClustersRemoveReturnsWithoutRun: the cluster was engaged when Run ended, or is being
// opened.
func TestClustersRemoveReturnsWithoutRun(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		minute, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		f := newFleet(t, w, "eu")
		f.engage(t, "eu")
		over, end := context.WithCancel(t.Context())
		end()
		_ = f.clusters.Run(over)
		if err := f.clusters.Remove(minute, "eu"); err != nil {
			t.Error("engaged when Run ended:", err)
		}
		opening := make(chan struct{})
		s := controller.NewClusters(func(*controller.Cluster) (int, error) { <-opening; return 1, nil })
		engaged := make(chan error)
		go func() { engaged <- s.Engage("us", w.client) }()
		synctest.Wait()
		time.AfterFunc(time.Second, func() { close(opening) })
		if err := s.Remove(minute, "us"); err != nil {
			t.Error("being opened:", err)
		}
		if err := <-engaged; err == nil {
			t.Error("a cluster is engaged that was removed while it was opened")
		}
	})
}

// TestClustersRemoveWaitsForTheLastOfAName: a cluster of the same name, which was removed before,
// ends meanwhile.
func TestClustersRemoveWaitsForTheLastOfAName(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		opening := make(chan chan struct{}, 2)
		s := controller.NewClusters(func(*controller.Cluster) (int, error) {
			open := make(chan struct{})
			opening <- open
			<-open
			return 1, nil
		})
		over, end := context.WithCancel(t.Context())
		end()
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() { _ = s.Engage("eu", w.client) })
			synctest.Wait()
			if err := s.Remove(over, "eu"); err == nil {
				t.Error("Remove returned while the cluster is opened")
			}
		}
		close(<-opening)
		synctest.Wait()
		if err := s.Remove(over, "eu"); err == nil {
			t.Error("Remove returned while the second cluster is opened")
		}
		close(<-opening)
		calls.Wait()
		if err := s.Remove(over, "eu"); err != nil {
			t.Error(err)
		}
	})
}

// TestClustersAreNotEngagedAfterTheEnd: Run ends while a cluster is opened.
func TestClustersAreNotEngagedAfterTheEnd(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		over, end := context.WithCancel(t.Context())
		end()
		var s *controller.Clusters[int]
		s = controller.NewClusters(func(*controller.Cluster) (int, error) { _ = s.Run(over); return 1, nil })
		if err := s.Engage("eu", w.client); err == nil || len(s.Status()) > 0 {
			t.Errorf("engaged after Run has ended: %v, %v", err, s.Status())
		}
	})
}
