package ring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/watch"
)

// configMap is what the replicas work on: data["wanted"] is copied to data["done"].
type configMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}

const revisionOf = "example.com/token" // annotation: the token of who wrote last

// TestMain is a replica where a test has started this binary as one.
func TestMain(m *testing.M) {
	name := os.Getenv("RING_REPLICA")
	if name == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := replica(ctx, name); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// replica takes part in the ring until ctx ends.
func replica(ctx context.Context, name string) error {
	cfg, err := config.Load(config.Options{Path: os.Getenv("RING_CONFIG"), Env: os.Getenv})
	if err != nil {
		return err
	}
	cfg.Client.UserAgent = name
	c, err := client.New(cfg.Client)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	ring, err := lease.NewRing(c, kube.Key{Namespace: "default", Name: "crew"}, lease.Options{Identity: name, Duration: 5 * time.Second, TakeMissing: true})
	if err != nil {
		return err
	}
	w := &worker{client: c, name: name, stop: func() {}}
	return ring.Run(ctx, w.apply)
}

// worker works on the objects of its share.
type worker struct {
	client *client.Client
	name   string
	stop   func() // of the informer and the controller
}

// apply ends the work on the former share, and begins that on another.
func (w *worker) apply(ctx context.Context, s lease.Share) error {
	w.stop()
	w.stop = func() {}
	fmt.Fprintf(os.Stderr, "%s has %d slots\n", w.name, s.Len())
	if ctx.Err() != nil || s.Len() == 0 {
		return nil
	}
	shard, err := s.Shard()
	if err != nil {
		return err
	}
	maps := client.Of[configMap](w.client, kube.ConfigMaps).In("default")
	informer := cache.New(maps, cache.Options[configMap]{Watch: watch.Options{Shard: shard}})
	ctl := controller.New(w.name, func(ctx context.Context, k kube.Key) (controller.Result, error) {
		o, ok := informer.Store().Get(k)
		if !ok || o.Data["wanted"] == o.Data["done"] {
			return controller.Result{}, nil
		}
		return controller.Result{}, w.write(ctx, maps, k, o, s.Token(o.UID))
	}, controller.Options[kube.Key]{Workers: 4})
	controller.For(ctl, informer)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = ctl.Run(ctx) })
	running.Go(func() { _ = informer.Run(ctx) })
	w.stop = func() { cancel(); running.Wait() }
	return nil
}

var errFenced = errors.New("another replica has worked on it since")

// write does the work on one object, and notes by whom it was done. The work takes a while
// and does not heed its context: a process that stood still meanwhile goes on with it, and
// sees the token of its successor.
func (w *worker) write(ctx context.Context, maps client.Collection[configMap], k kube.Key, seen configMap, token lease.Token) error {
	time.Sleep(100 * time.Millisecond)
	_, err := maps.Edit(context.WithoutCancel(ctx), k, func(o *configMap) error {
		if kube.Revision(o.Annotations[revisionOf]).Newer(token.Revision) {
			fmt.Fprintf(os.Stderr, "%s is fenced at %s\n", w.name, k)
			return errFenced
		}
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[revisionOf], o.Annotations["example.com/by"] = string(token.Revision), w.name
		o.Data["done"] = seen.Data["wanted"]
		return nil
	})
	if errors.Is(err, errFenced) || errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	return err
}
