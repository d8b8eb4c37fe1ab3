// Peers runs the informers of client-go and the cache of controller-runtime, as
// their documentation sets them up, with client-side rate limits off.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/listwatch/listwatch/bench/probe"
)

const (
	asJSON     = "application/json"
	asProtobuf = "application/vnd.kubernetes.protobuf"
)

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	ctrllog.SetLogger(logr.Discard())
	probe.Main(start)
}

func start(ctx context.Context, r *probe.Run, failed chan<- error) (func() int, error) {
	if streams := features.FeatureGates().Enabled(features.WatchListClient); streams != (r.Initial == probe.Stream) {
		return nil, fmt.Errorf("WatchListClient is %t: set KUBE_FEATURE_WatchListClient for -initial %s", streams, r.Initial)
	}
	cfg := &rest.Config{Host: r.Server, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAFile: r.CA}}
	switch r.Client {
	case "clientgo-typed-json":
		return typed(ctx, r, accepting(cfg, asJSON))
	case "clientgo-typed-protobuf":
		return typed(ctx, r, accepting(cfg, asProtobuf))
	case "clientgo-dynamic":
		return dynamicInformers(ctx, r, cfg)
	case "clientgo-metadata":
		return metadataInformers(ctx, r, cfg)
	case "controller-runtime-json":
		return runtimeCache(ctx, r, accepting(cfg, asJSON))
	case "controller-runtime-protobuf":
		return runtimeCache(ctx, r, accepting(cfg, asProtobuf))
	case "controller-runtime-reconciler-json":
		return runtimeReconciler(ctx, r, accepting(cfg, asJSON), failed)
	case "controller-runtime-reconciler-protobuf":
		return runtimeReconciler(ctx, r, accepting(cfg, asProtobuf), failed)
	case "controller-runtime-unstructured":
		return runtimeCache(ctx, r, cfg)
	}
	return nil, fmt.Errorf("unknown client %q", r.Client)
}

func accepting(cfg *rest.Config, contentType string) *rest.Config {
	cfg.ContentType, cfg.AcceptContentTypes = contentType, contentType
	if contentType != asJSON {
		cfg.AcceptContentTypes += "," + asJSON
	}
	return cfg
}

func typed(ctx context.Context, r *probe.Run, cfg *rest.Config) (func() int, error) {
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return follow(r, func(namespace string) (cache.SharedIndexInformer, func(), error) {
		f := informers.NewSharedInformerFactoryWithOptions(cs, 0, informers.WithNamespace(namespace))
		generic, err := f.ForResource(resource(r.Kind))
		if err != nil {
			return nil, nil, err
		}
		return generic.Informer(), func() { f.StartWithContext(ctx) }, nil
	})
}

func dynamicInformers(ctx context.Context, r *probe.Run, cfg *rest.Config) (func() int, error) {
	dc, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return follow(r, func(namespace string) (cache.SharedIndexInformer, func(), error) {
		f := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dc, 0, namespace, nil)
		return f.ForResource(resource(r.Kind)).Informer(), func() { f.Start(ctx.Done()) }, nil
	})
}

func metadataInformers(ctx context.Context, r *probe.Run, cfg *rest.Config) (func() int, error) {
	mc, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return follow(r, func(namespace string) (cache.SharedIndexInformer, func(), error) {
		f := metadatainformer.NewFilteredSharedInformerFactory(mc, 0, namespace, nil)
		return f.ForResource(resource(r.Kind)).Informer(), func() { f.Start(ctx.Done()) }, nil
	})
}

// follow starts an informer for each namespace of a run. Build makes one, and the
// function that starts it.
func follow(r *probe.Run, build func(namespace string) (cache.SharedIndexInformer, func(), error)) (func() int, error) {
	var all []cache.SharedIndexInformer
	for i, sinks := range r.Sinks {
		inf, start, err := build(r.Namespace(i))
		if err != nil {
			return nil, err
		}
		if err := handle(inf, sinks); err != nil {
			return nil, err
		}
		all = append(all, inf)
		start()
	}
	return func() int {
		n := 0
		for _, inf := range all {
			n += len(inf.GetStore().ListKeys())
		}
		return n
	}, nil
}

func resource(plural string) schema.GroupVersionResource {
	switch plural {
	case "pods", "configmaps":
		return schema.GroupVersionResource{Version: "v1", Resource: plural}
	}
	return schema.GroupVersionResource{Group: "bench.listwatch.dev", Version: "v1", Resource: plural}
}

// adder is what the informers of both libraries have in common.
type adder interface {
	AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
}

func handle(inf adder, sinks []*probe.Sink) error {
	for _, s := range sinks {
		seen := func(obj any) {
			if o, err := meta.Accessor(obj); err == nil {
				s.Seen(o.GetResourceVersion())
			}
		}
		_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    seen,
			UpdateFunc: func(_, obj any) { seen(obj) },
			DeleteFunc: seen,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
