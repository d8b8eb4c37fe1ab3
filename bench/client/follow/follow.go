// Package follow runs listwatch's own informers under the probe: a watcher, a
// store, and handlers that are told what changed.
package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

var resources = map[string]kube.Resource{
	"pods":       kube.Pods,
	"configmaps": kube.ConfigMaps,
	"widgets":    {Group: "bench.listwatch.dev", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true},
	"blobs":      {Group: "bench.listwatch.dev", Version: "v1", Plural: "blobs", Kind: "Blob", Namespaced: true},
}

// Start follows r's collection as objects of type T.
func Start[T kube.Object](ctx context.Context, r *probe.Run, failed chan<- error) (stored func() int, err error) {
	res, ok := resources[r.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind %q", r.Kind)
	}
	c, err := client.New(client.Config{Server: r.Server})
	if err != nil {
		return nil, err
	}
	o := watch.Options{Initial: watch.Stream}
	if r.Initial == probe.Paged {
		o.Initial = watch.Paged
	}
	var stores []*cache.Store[T]
	for i, sinks := range r.Sinks {
		s := cache.NewStore[T]()
		stores = append(stores, s)
		var handlers []func(cache.Delta[T])
		for _, sink := range sinks {
			handlers = append(handlers, func(d cache.Delta[T]) { sink.Seen(string(d.Revision)) })
		}
		col := client.Of[T](c, res).In(r.Namespace(i))
		go func() { failed <- inform(ctx, watch.New(col, o), s, handlers) }()
	}
	return func() int {
		n := 0
		for _, s := range stores {
			n += s.Len()
		}
		return n
	}, nil
}

// inform is an informer: it returns at the first trouble, as there should be
// none.
func inform[T kube.Object](ctx context.Context, w *watch.Watcher[T], s *cache.Store[T], handlers []func(cache.Delta[T])) error {
	for ev, err := range w.Events(ctx) {
		if err != nil {
			return err
		}
		for _, d := range s.Apply(ev) {
			for _, h := range handlers {
				h(d)
			}
		}
	}
	return errors.New("the watch ended")
}

// Raw keeps the bytes.
type Raw = codec.Raw

// Partial keeps the metadata, and asks for no more.
type Partial = kube.Partial

// Eight is a program's own struct: the eight fields of a pod that it needs.
type Eight struct {
	Metadata struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

// GetNamespace returns the namespace.
func (e Eight) GetNamespace() string { return e.Metadata.Namespace }

// GetName returns the name.
func (e Eight) GetName() string { return e.Metadata.Name }

// GetUID returns the UID.
func (e Eight) GetUID() string { return e.Metadata.UID }

// GetResourceVersion returns the resource version.
func (e Eight) GetResourceVersion() string { return e.Metadata.ResourceVersion }
