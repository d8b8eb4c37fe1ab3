// Ours is the smallest useful informer on listwatch: it runs in a pod, keeps all
// pods in memory and prints what happens to them.
package main

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// pod is what this program needs of a pod.
type pod struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	cfg, _, err := client.InCluster()
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	store := cache.NewStore[pod]()
	for ev, err := range watch.New(client.Of[pod](c, kube.Pods), watch.Options{}).Events(ctx) {
		if err != nil {
			log.Print(err)
			continue
		}
		for _, d := range store.Apply(ev) {
			fmt.Println(d.Type, d.Key, d.New.Spec.NodeName, d.New.Status.Phase)
		}
	}
}
