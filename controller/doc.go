// Package controller calls your function to make the actual state what objects specify: it adds the
// keys of changed objects to a queue, and each worker calls the function with one key at a time.
//
//	foos := cache.New(client.Of[Foo](c, fooResource), cache.Options[Foo]{})
//	deployments := cache.New(client.Of[Deployment](c, kube.Deployments), cache.Options[Deployment]{})
//
//	ctl := controller.New("foo", func(ctx context.Context, key kube.Key) (controller.Result, error) {
//		foo, ok := foos.Store().Get(key)
//		...
//	}, controller.Options[kube.Key]{Workers: 4})
//	controller.For(ctl, foos)
//	controller.Owns(ctl, fooResource, deployments)
//
// The function is level-triggered: it does not get the change, but reads the current state and does
// what is missing. It may be called again at any time. A key is processed by one worker at a time.
// Changes during a run lead to one more run, however many they are. An error leads to another run
// after a delay, which grows with each consecutive error.
//
// Package queue is the queue by itself. Package manager runs informers, controllers,
// leader election and an HTTP listener together, and stops them in order.
package controller
