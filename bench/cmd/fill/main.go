// Fill puts the pods of the yardstick into a real cluster, in parallel:
//
//	go run ./cmd/fill -kubeconfig FILE -objects 10000
//
// Pods that are there stay as they are. The cluster must take pods without
// service accounts, as the one of e2e/cmd/cluster does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"

	"github.com/listwatch/listwatch/bench/workload"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	kubeconfig := flag.String("kubeconfig", "", "which cluster")
	objects := flag.Int("objects", 10000, "how many pods, a multiple of 50")
	workers := flag.Int("workers", 16, "how many at a time")
	flag.Parse()
	if *kubeconfig == "" {
		return errors.New("-kubeconfig is missing: no other cluster is filled by accident")
	}
	if *objects <= 0 || *objects%workload.Namespaces != 0 {
		return fmt.Errorf("%d objects are not a multiple of %d", *objects, workload.Namespaces)
	}
	cfg, err := config.Load(config.Options{Path: *kubeconfig})
	if err != nil {
		return err
	}
	c, err := client.New(cfg.Client)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	f := &filler{client: c, objects: *objects}
	pods, err := workload.ByPlural("pods")
	if err != nil {
		return err
	}
	if f.templates, err = pods.Templates(workload.Form{}); err != nil {
		return err
	}
	for i := 0; i < *objects; i += *objects / workload.Namespaces {
		name := workload.Namespace(i, *objects)
		if err := f.create(ctx, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": name}}); err != nil {
			return err
		}
	}
	return f.pods(ctx, *workers)
}

type filler struct {
	client    *client.Client
	templates []workload.Template
	objects   int
}

func (f *filler) pods(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < f.objects && ctx.Err() == nil; i += workers {
				if err := f.pod(ctx, i); err != nil {
					cancel(fmt.Errorf("pod %d: %w", i, err))
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// pod creates a pod without what only a server may give it.
func (f *filler) pod(ctx context.Context, i int) error {
	var pod map[string]any
	if err := json.Unmarshal(f.templates[i%len(f.templates)].Append(nil, i, f.objects, 1), &pod); err != nil {
		return err
	}
	meta := pod["metadata"].(map[string]any)
	for _, key := range []string{"resourceVersion", "uid", "creationTimestamp"} {
		delete(meta, key)
	}
	return f.create(ctx, fmt.Sprintf("/api/v1/namespaces/%s/pods", meta["namespace"]), pod)
}

// create creates an object, unless it is there.
func (f *filler) create(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	resp, err := f.client.Do(ctx, &client.Request{Method: http.MethodPost, Path: path, Body: body})
	if errors.Is(err, kube.ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
