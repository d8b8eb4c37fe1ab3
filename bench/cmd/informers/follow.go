package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// key is that of object i.
func (j job) key(i int) kube.Key {
	return kube.Key{Namespace: namespace(i % j.Namespaces), Name: fmt.Sprintf("n-%06d", i)}
}

// keys are made before they are read by.
func (j job) keys() (all []kube.Key) {
	for i := range j.Objects {
		all = append(all, j.key(i))
	}
	return all
}

func ours(ctx context.Context, j job, m *meter) (followed, error) {
	c, err := client.New(client.Config{Server: j.Server, TLS: client.TLS{CAFile: j.CA}})
	if err != nil {
		return followed{}, err
	}
	var all []*cache.Informer[*corev1.ConfigMap]
	var index *cache.Index[*corev1.ConfigMap, string]
	for _, ns := range j.scopes() {
		inf := cache.New(client.Of[*corev1.ConfigMap](c, kube.ConfigMaps).In(ns), cache.Options[*corev1.ConfigMap]{})
		index = cache.ByNamespace(inf.Store())
		inf.Handle(func(d cache.Delta[*corev1.ConfigMap]) { m.seen(d.New) })
		all = append(all, inf)
		go func() { _ = inf.Run(ctx) }() // it ends with the process
	}
	store, keys := all[0].Store(), j.keys()
	return followed{
		wait: func(ctx context.Context) error {
			for _, inf := range all {
				if err := inf.WaitSynced(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		read: map[string]func(int) int{
			"key": func(i int) int {
				if _, ok := store.Get(keys[i]); ok {
					return 1
				}
				return 0
			},
			"index": func(i int) (n int) {
				for range index.Get(keys[i].Namespace) {
					n++
				}
				return n
			},
			"all": func(int) (n int) {
				for range store.All() {
					n++
				}
				return n
			},
			"list": func(int) int { return len(store.List("", nil)) }, // sorted
		},
	}, nil
}

func clientGo(ctx context.Context, j job, m *meter) (followed, error) {
	const form = "application/vnd.kubernetes.protobuf"
	cs, err := kubernetes.NewForConfig(&rest.Config{Host: j.Server, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAFile: j.CA},
		ContentConfig: rest.ContentConfig{ContentType: form, AcceptContentTypes: form + ",application/json"}})
	if err != nil {
		return followed{}, err
	}
	var synced []<-chan struct{}
	var indexer clientgo.Indexer
	for _, ns := range j.scopes() {
		f := informers.NewSharedInformerFactoryWithOptions(cs, 0, informers.WithNamespace(ns))
		inf := f.Core().V1().ConfigMaps().Informer()
		registered, err := inf.AddEventHandler(clientgo.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { m.seen(o.(*corev1.ConfigMap)) },
			UpdateFunc: func(_, o any) { m.seen(o.(*corev1.ConfigMap)) },
		})
		if err != nil {
			return followed{}, err
		}
		indexer = inf.GetIndexer()
		f.StartWithContext(ctx)
		synced = append(synced, registered.HasSyncedChecker().Done())
	}
	lister, keys := corelisters.NewConfigMapLister(indexer), j.keys()
	return followed{
		wait: func(ctx context.Context) error {
			for _, done := range synced {
				select {
				case <-done:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		},
		read: map[string]func(int) int{
			"key": func(i int) int {
				if _, err := lister.ConfigMaps(keys[i].Namespace).Get(keys[i].Name); err == nil {
					return 1
				}
				return 0
			},
			"index": func(i int) int {
				all, _ := lister.ConfigMaps(keys[i].Namespace).List(labels.Everything()) // fails without the index only
				return len(all)
			},
			"all": func(int) int {
				all, _ := lister.List(labels.Everything())
				return len(all)
			},
			"list": func(int) int {
				all, _ := lister.List(labels.Everything())
				slices.SortFunc(all, func(a, b *corev1.ConfigMap) int {
					return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
				})
				return len(all)
			},
		},
	}, nil
}
