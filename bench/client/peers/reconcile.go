package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/listwatch/listwatch/bench/probe"
)

// runtimeReconciler follows pods by a controller of controller-runtime that reads
// each one from its cache, as reconcilers begin.
func runtimeReconciler(ctx context.Context, r *probe.Run, cfg *rest.Config, failed chan<- error) (func() int, error) {
	scopes, stored, err := runtimeCaches(ctx, r, cfg)
	if err != nil {
		return nil, err
	}
	for i, c := range scopes {
		sink := r.Sinks[i][0]
		ctl, err := controller.NewUnmanaged("bench", controller.Options{Reconciler: reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			var pod corev1.Pod
			if err := c.Get(ctx, q.NamespacedName, &pod); err != nil {
				return reconcile.Result{}, err
			}
			sink.Seen(pod.ResourceVersion)
			return reconcile.Result{}, nil
		})})
		if err != nil {
			return nil, err
		}
		if err := ctl.Watch(source.Kind(c.Cache, &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{})); err != nil {
			return nil, err
		}
		go func() {
			if err := ctl.Start(ctx); err != nil && ctx.Err() == nil {
				failed <- err
			}
		}()
	}
	return stored, nil
}
