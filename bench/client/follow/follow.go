// Package follow runs listwatch's own informers under the probe, as a program
// would use them: cache.New, handlers, Run.
package follow

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

var resources = map[string]kube.Resource{
	"pods":       kube.Pods,
	"configmaps": kube.ConfigMaps,
	"widgets":    {Group: "bench.listwatch.dev", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true},
	"blobs":      {Group: "bench.listwatch.dev", Version: "v1", Plural: "blobs", Kind: "Blob", Namespaced: true},
}

// Start follows r's collection as objects of type T. Transform may be nil.
func Start[T kube.Object](ctx context.Context, r *probe.Run, failed chan<- error, transform func(T) (T, error)) (stored func() int, err error) {
	return start(ctx, r, failed, transform, func(inf *cache.Informer[T], sinks []*probe.Sink) *controller.Controller[kube.Key] {
		for _, sink := range sinks {
			inf.Handle(func(d cache.Delta[T]) { sink.Seen(string(d.Revision)) })
		}
		return nil
	})
}

// Reconcile follows r's collection by a controller that reads each object from the
// informer's store, as reconcilers begin.
func Reconcile[T kube.Object](ctx context.Context, r *probe.Run, failed chan<- error) (stored func() int, err error) {
	return start(ctx, r, failed, nil, func(inf *cache.Informer[T], sinks []*probe.Sink) *controller.Controller[kube.Key] {
		ctl := controller.New("bench", func(_ context.Context, k kube.Key) (controller.Result, error) {
			o, ok := inf.Store().Get(k)
			if !ok {
				return controller.Result{}, fmt.Errorf("%s is not in the store", k)
			}
			sinks[0].Seen(o.GetResourceVersion())
			return controller.Result{}, nil
		}, controller.Options[kube.Key]{})
		controller.For(ctl, inf)
		return ctl
	})
}

// start starts an informer for each namespace of a run, and what follow returns.
func start[T kube.Object](ctx context.Context, r *probe.Run, failed chan<- error, transform func(T) (T, error), follow func(*cache.Informer[T], []*probe.Sink) *controller.Controller[kube.Key]) (stored func() int, err error) {
	res, ok := resources[r.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind %q", r.Kind)
	}
	cfg := client.Config{Server: r.Server, TLS: client.TLS{CAFile: r.CA}}
	if strings.HasSuffix(r.Client, "-json") {
		cfg.Encoding = client.EncodingJSON
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, err
	}
	fail := func(err error) {
		select {
		case failed <- err:
		default: // somebody was faster
		}
	}
	o := cache.Options[T]{
		Watch: watch.Options{Initial: watch.Stream}, Transform: transform,
		Snapshot: cache.Snapshot{Path: r.Snapshot, Cluster: "bench"},
		OnError:  fail, // there should be none
	}
	if r.Initial == probe.Paged {
		o.Watch.Initial = watch.Paged
	}

	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	r.Close = func() {
		cancel()
		running.Wait()
	}
	var all []*cache.Informer[T]
	for i, sinks := range r.Sinks {
		inf := cache.New(client.Of[T](c, res).In(r.Namespace(i)), o)
		if ctl := follow(inf, sinks); ctl != nil {
			running.Go(func() {
				if err := ctl.Run(ctx); ctx.Err() == nil {
					fail(err)
				}
			})
		}
		all = append(all, inf)
		running.Go(func() {
			if err := inf.Run(ctx); ctx.Err() == nil {
				fail(err)
			}
		})
		r.Synced.Go(func() {
			if err := inf.WaitSynced(ctx); err != nil {
				fail(err)
				<-ctx.Done()
			}
		})
	}
	return func() int {
		n := 0
		for _, inf := range all {
			n += inf.Store().Len()
		}
		return n
	}, nil
}
