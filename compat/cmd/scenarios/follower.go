package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/listwatch/listwatch/apitest/scenario"
	engine "github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// follower keeps up with the ConfigMaps of a run until ctx is done. All of them
// are used as their documentation begins, without further settings.
type follower struct {
	name   string
	follow func(ctx context.Context, run *scenario.Run) error
}

var followers = []follower{
	{"listwatch", ours},
	{"client-go, streaming lists", func(ctx context.Context, run *scenario.Run) error { return clientGo(ctx, run, true) }},
	{"client-go, plain lists", func(ctx context.Context, run *scenario.Run) error { return clientGo(ctx, run, false) }},
	{"controller-runtime", controllerRuntime},
}

func ours(ctx context.Context, run *scenario.Run) error {
	c, err := client.New(client.Config{Server: run.URL, TLS: client.TLS{CAData: run.Server.CAPEM()}})
	if err != nil {
		return err
	}
	return engine.New(client.Of[kube.Partial](c, kube.ConfigMaps), engine.Options[kube.Partial]{}).Run(ctx)
}

func config(run *scenario.Run) *rest.Config {
	return &rest.Config{Host: run.URL, TLSClientConfig: rest.TLSClientConfig{CAData: run.Server.CAPEM()}}
}

func clientGo(ctx context.Context, run *scenario.Run, streaming bool) error {
	set, err := kubernetes.NewForConfig(config(run))
	if err != nil {
		return err
	}
	maps := set.CoreV1().ConfigMaps("")
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, o)
		},
	}
	source := cache.ToListWatcherWithWatchListSemantics(lw, unsupported{})
	if streaming {
		source = cache.ToListWatcherWithWatchListSemantics(lw, set)
	}
	cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0).RunWithContext(ctx)
	return nil
}

// unsupported makes client-go list in pages.
type unsupported struct{}

func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }

func controllerRuntime(ctx context.Context, run *scenario.Run) error {
	c, err := ctrlcache.New(config(run), ctrlcache.Options{})
	if err != nil {
		return err
	}
	if _, err := c.GetInformer(ctx, &corev1.ConfigMap{}, ctrlcache.BlockUntilSynced(false)); err != nil {
		return err
	}
	return c.Start(ctx)
}
