package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/bench/probe"
)

// kinds of what the server serves, which controller-runtime would otherwise ask
// it for.
var kinds = map[string]schema.GroupVersionKind{
	"pods":       {Version: "v1", Kind: "Pod"},
	"configmaps": {Version: "v1", Kind: "ConfigMap"},
	"widgets":    {Group: "bench.listwatch.dev", Version: "v1", Kind: "Widget"},
	"blobs":      {Group: "bench.listwatch.dev", Version: "v1", Kind: "Blob"},
}

// scoped is a cache of one namespace, or of all.
type scoped struct {
	cache.Cache
	namespace string
}

// runtimeCache follows the collection by controller-runtime's cache.
func runtimeCache(ctx context.Context, r *probe.Run, cfg *rest.Config) (func() int, error) {
	scopes, stored, err := runtimeCaches(ctx, r, cfg)
	if err != nil {
		return nil, err
	}
	for i, c := range scopes {
		inf, err := c.GetInformer(ctx, prototype(r, kinds[r.Kind]), cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		if err := handle(inf, r.Sinks[i]); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// runtimeCaches starts a cache for each namespace of a run. Stored counts what is in
// them.
func runtimeCaches(ctx context.Context, r *probe.Run, cfg *rest.Config) (all []scoped, stored func() int, err error) {
	gvk := kinds[r.Kind]
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{gvk.Kind, gvk.Kind + "List"} {
		gvr := gvk.GroupVersion().WithResource(r.Kind)
		mapper.AddSpecific(gvk.GroupVersion().WithKind(kind), gvr, gvr, meta.RESTScopeNamespace)
	}

	for i := range r.Sinks {
		o := cache.Options{Scheme: scheme.Scheme, Mapper: mapper}
		if ns := r.Namespace(i); ns != "" {
			o.DefaultNamespaces = map[string]cache.Config{ns: {}}
		}
		c, err := cache.New(cfg, o)
		if err != nil {
			return nil, nil, err
		}
		go func() { _ = c.Start(ctx) }() // fails before the informers are synced, or never
		all = append(all, scoped{c, r.Namespace(i)})
	}
	return all, func() int {
		n := 0
		for _, c := range all {
			var list client.ObjectList
			switch prototype(r, gvk).(type) {
			case *corev1.Pod:
				list = &corev1.PodList{}
			case *corev1.ConfigMap:
				list = &corev1.ConfigMapList{}
			case *unstructured.Unstructured:
				u := &unstructured.UnstructuredList{}
				u.SetGroupVersionKind(gvk)
				list = u
			}
			if err := c.List(ctx, list, client.InNamespace(c.namespace), client.UnsafeDisableDeepCopy); err == nil {
				n += meta.LenList(list)
			}
		}
		return n
	}, nil
}

func prototype(r *probe.Run, gvk schema.GroupVersionKind) client.Object {
	switch {
	case r.Client == "controller-runtime-unstructured":
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u
	case r.Kind == "configmaps":
		return &corev1.ConfigMap{}
	}
	return &corev1.Pod{}
}
