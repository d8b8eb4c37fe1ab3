// Package controller makes the world match what objects say: keys of objects that
// changed go into a queue, and workers call your function with one key at a time.
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
// The function is level-triggered: it is not told what happened, it looks at what
// is, does what is missing, and may be called again at any time. One key is never
// with two workers; changes that come while it runs lead to exactly one more run;
// an error leads to one after a delay that grows.
//
// Package queue is the queue alone. Package manager runs informers, controllers, leader
// election and an HTTP listener together, and stops them in order.
package controller
