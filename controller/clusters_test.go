package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// caches are the caches of one cluster.
type caches struct {
	maps    *cache.SharedInformer[configMap]
	secrets *cache.SharedInformer[secret]
}

// fleet is clusters and a controller of them.
type fleet struct {
	*world
	servers  map[string]*apitest.Server
	clients  map[string]*client.Client
	clusters *controller.Clusters[caches]
	ctl      *controller.Controller[controller.ClusterKey]
}

func newFleet(t *testing.T, w *world, names ...string) *fleet {
	f := &fleet{world: w, servers: make(map[string]*apitest.Server), clients: make(map[string]*client.Client)}
	for _, name := range names {
		srv := apitest.NewInMemory(t)
		c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdleConnections)
		f.servers[name], f.clients[name] = srv, c
	}
	f.clusters = controller.NewClusters(func(c *controller.Cluster) (caches, error) {
		if c.Name == "refused" {
			return caches{}, errBroken
		}
		return caches{
			cache.Shared(c.Group, client.Of[configMap](c.Client, kube.ConfigMaps), cache.Options[configMap]{}),
			cache.Shared(c.Group, client.Of[secret](c.Client, kube.Secrets), cache.Options[secret]{}),
		}, nil
	})
	f.newController()
	return f
}

// newController makes the controller, as a replica does.
func (f *fleet) newController() {
	f.ctl = controller.New("fleet", func(_ context.Context, k controller.ClusterKey) (controller.Result, error) {
		cluster, ok := f.clusters.Get(k.Cluster)
		if !ok {
			f.note("%s: not engaged", k)
			return controller.Result{}, nil
		}
		o, _ := cluster.maps.Store().Get(k.Key)
		f.note("%s=%s", k, o.Data["v"])
		return controller.Result{}, nil
	}, controller.Options[controller.ClusterKey]{})
	controller.ForClusters(f.ctl, f.clusters, func(c caches) controller.Input[configMap] { return c.maps })
	controller.OwnsClusters(f.ctl, f.clusters, kube.ConfigMaps, func(c caches) controller.Input[secret] { return c.secrets })
}

func (f *fleet) run(t *testing.T, all ...interface{ Run(context.Context) error }) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, r := range all {
		running.Go(func() {
			if err := r.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func (f *fleet) engage(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := f.clusters.Engage(name, f.clients[name]); err != nil {
			t.Error(err)
		}
	}
}

func (f *fleet) putIn(cluster, name, value string) {
	f.servers[cluster].Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"data":{"v":%q}}`, name, value))
}

// wantSorted compares the notes since the last time, which are of several clusters and
// inputs, in any order, each once.
func (f *fleet) wantSorted(t *testing.T, want ...string) {
	t.Helper()
	got := f.notes()
	slices.Sort(got)
	got = slices.Compact(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestClusters: a cluster that refuses one of its types delays no other, and none of its
// keys comes before all its caches are filled. A cluster that is removed is not watched any
// more, and may be engaged again.
func TestClusters(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		f := newFleet(t, w, "dead", "eu", "us")
		refusal := f.servers["dead"].On(apitest.Match{Resource: "secrets"}, faults.Answer(forbidden()))
		for name := range f.servers {
			f.putIn(name, "x", "1")
		}
		f.engage(t, "eu", "dead") // before Run
		f.run(t, f.clusters, f.ctl)
		f.wantSorted(t, "eu:a/x=1")
		f.engage(t, "us")
		f.wantSorted(t, "us:a/x=1")
		f.putIn("dead", "x", "2")
		f.putIn("eu", "x", "2")
		<-time.After(time.Minute)
		f.wantSorted(t, "eu:a/x=2")
		if err := errors.Join(f.ctl.Ready(), f.clusters.Ready()); err != nil {
			t.Errorf("one cluster is dead, and the program is not ready: %v", err)
		}
		for _, s := range f.clusters.Status() {
			if dead := s.Name == "dead"; errors.Is(s.Err, kube.ErrForbidden) != dead || !dead && s.Err != nil {
				t.Errorf("status of %s: %v", s.Name, s.Err)
			}
		}
		if _, ok := f.clusters.Get("dead"); ok {
			t.Error("Get returns a cluster whose caches are not filled")
		}
		refusal.Remove()
		<-time.After(2 * time.Minute)
		f.wantSorted(t, "dead:a/x=2")

		f.servers["us"].Put(kube.Secrets, `{"metadata":{"namespace":"a","name":"s","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"u","controller":true}]}}`)
		f.wantSorted(t, "us:a/x=1")
		if err := f.clusters.Remove(t.Context(), "us"); err != nil {
			t.Error(err)
		}
		synctest.Wait() // the server notices later
		for _, r := range f.servers["us"].Requests() {
			if r.End.IsZero() {
				t.Errorf("after Remove %s is still requested", r.Path)
			}
		}
		f.putIn("us", "x", "3")
		f.ctl.Queue().Add(controller.ClusterKey{Cluster: "us", Key: kube.Key{Namespace: "a", Name: "x"}})
		f.wantSorted(t, "us:a/x: not engaged")
		f.engage(t, "us")
		f.wantSorted(t, "us:a/x=3")
		if err := f.clusters.Engage("us", f.clients["us"]); !errors.Is(err, controller.ErrEngaged) {
			t.Errorf("Engage of an engaged cluster: %v", err)
		}
		if err := f.clusters.Engage("refused", f.clients["us"]); !errors.Is(err, errBroken) {
			t.Errorf("Engage that open refuses: %v", err)
		}
		if err := f.clusters.Remove(t.Context(), "never"); err != nil {
			t.Errorf("Remove of a cluster that is not engaged: %v", err)
		}
	})
}

// TestClustersOfAStandby: the caches are filled in all replicas, and a new leader gets
// each object, of the clusters that can be reached, with the writes of the one before.
func TestClustersOfAStandby(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		f := newFleet(t, w, "eu", "us")
		f.putIn("eu", "x", "1")
		f.putIn("us", "x", "1")
		f.run(t, f.clusters)
		f.engage(t, "eu", "us")
		<-time.After(time.Minute)
		f.servers["us"].On(apitest.Match{}, faults.Answer(&kube.Status{Code: 503, Message: "no"})) // lists, from now on
		f.putIn("eu", "x", "2")
		f.run(t, f.ctl)
		f.wantSorted(t, "eu:a/x=2")
	})
}

// TestClustersEnd: what was engaged is ended, and nothing can be engaged.
func TestClustersEnd(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		f := newFleet(t, w, "eu", "us")
		stop := f.run(t, f.clusters, f.ctl)
		f.engage(t, "eu")
		synctest.Wait()
		stop()
		if _, ok := f.clusters.Get("eu"); ok {
			t.Error("Get returns a cluster after the end")
		}
		if err := f.clusters.Engage("us", f.clients["us"]); err == nil {
			t.Error("a cluster was engaged after the end")
		}
		if err := f.clusters.Remove(t.Context(), "eu"); err != nil {
			t.Error(err)
		}
		if err := f.clusters.Run(t.Context()); err == nil {
			t.Error("Run twice")
		}
		controller.For(noting(w, controller.Options[kube.Key]{}), w.maps)
	})
}

// TestClustersOpenPanics: the name of the cluster is free again, for the Func of a
// controller that engages clusters and is retried.
func TestClustersOpenPanics(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		broken := true
		s := controller.NewClusters(func(*controller.Cluster) (int, error) {
			if broken {
				panic("broken")
			}
			return 1, nil
		})
		func() {
			defer func() { _ = recover() }()
			_ = s.Engage("east", w.client)
		}()
		if n := len(s.Status()); n != 0 {
			t.Errorf("%d clusters are engaged", n)
		}
		broken = false
		if err := s.Engage("east", w.client); err != nil {
			t.Error(err)
		}
		limited, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := s.Remove(limited, "east"); err != nil {
			t.Error(err)
		}
	})
}
