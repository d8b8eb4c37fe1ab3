package controller_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
)

// One controller for the Foos of several clusters, which are added while it runs.
func ExampleClusters() {
	type caches struct { // of one cluster
		foos *cache.SharedInformer[Foo]
	}
	clusters := controller.NewClusters(func(c *controller.Cluster) (caches, error) {
		return caches{foos: cache.Shared(c.Group, client.Of[Foo](c.Client, foos), cache.Options[Foo]{})}, nil
	})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	next := make(chan bool)
	ctl := controller.New("foo", func(_ context.Context, key controller.ClusterKey) (controller.Result, error) {
		cluster, ok := clusters.Get(key.Cluster)
		if !ok {
			return controller.Result{}, nil // removed
		}
		foo, _ := cluster.foos.Store().Get(key.Key)
		fmt.Println(key, "has size", foo.Spec.Size)
		next <- true
		return controller.Result{}, nil
	}, controller.Options[controller.ClusterKey]{})
	controller.ForClusters(ctl, clusters, func(c caches) controller.Input[Foo] { return c.foos })

	m := manager.New(manager.Options{})
	m.Add(clusters)
	m.AddLed(ctl)
	ended := make(chan error)
	go func() { ended <- m.Run(ctx) }()

	for size, name := range []string{"eu", "us"} {
		srv, err := apitest.Start(apitest.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer srv.Close()
		srv.AddResource(apitest.ResourceInfo{Resource: foos})
		srv.Put(foos, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"web"},"spec":{"size":%d}}`, size+1))
		c, err := client.New(client.Config{Server: srv.URL})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := clusters.Engage(name, c); err != nil {
			fmt.Println(err)
			return
		}
		<-next
	}
	fmt.Println(clusters.Remove(ctx, "eu"))
	stop()
	fmt.Println(<-ended)
	// Output:
	// eu:a/web has size 1
	// us:a/web has size 2
	// <nil>
	// <nil>
}

// A run whose writes the next run of the key sees.
func ExampleAwaited() {
	operator := func(c *client.Client) *controller.Controller[kube.Key] {
		all := client.Of[Foo](c, foos)
		informer := cache.New(all, cache.Options[Foo]{})
		var ctl *controller.Controller[kube.Key]
		ctl = controller.New("foo", func(ctx context.Context, key kube.Key) (controller.Result, error) {
			writes := controller.Awaited(ctl, key, all, informer)
			_, _, err := controller.Ensure(ctx, writes, informer.Store(), key, func(f *Foo) error { f.Spec.Size = 3; return nil })
			return controller.Result{}, err
		}, controller.Options[kube.Key]{})
		controller.For(ctl, informer)
		return ctl
	}
	_ = operator
}
