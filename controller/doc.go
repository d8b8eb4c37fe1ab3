// Package controller brings the actual state in line with objects: keys of changed
// objects are added to a queue, and workers call your function with one key at a time.
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
// The function is level-triggered: it does not get the change, but reads the current
// state and does what is missing. It may be called again at any time. A key is
// processed by one worker at a time. Changes during a run lead to exactly one more run;
// an error leads to one after a delay that grows.
//
// Package queue is the queue by itself. Package manager runs informers, controllers,
// leader election and an HTTP listener together, and stops them in order.
package controller
