package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Pod is what the example wants to know of a pod.
type Pod struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName   string      `json:"nodeName,omitempty"`
		Containers []Container `json:"containers,omitempty"`
	} `json:"spec"`
}

// Container is what the example wants to know of a container.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

func ExampleInformer() {
	// A fake API server; in life this is a cluster, and package config finds it.
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web-0"},"spec":{"nodeName":"node-1"}}`)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pods := cache.New(client.Of[Pod](c, kube.Pods), cache.Options[Pod]{})
	byNode := cache.NewIndex(pods.Store(), func(p Pod) []string { return []string{p.Spec.NodeName} })
	pods.Handle(func(d cache.Delta[Pod]) { fmt.Println(d.Type, d.Key, "on", d.New.Spec.NodeName) })
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitSynced(ctx); err != nil {
		fmt.Println(err)
		return
	}

	// Write, and read your own write.
	web1 := Pod{Meta: kube.Meta{Namespace: "shop", Name: "web-1"}}
	web1.Spec.NodeName = "node-1"
	web1.Spec.Containers = []Container{{Name: "web", Image: "nginx"}}
	web1, err = client.Of[Pod](c, kube.Pods).Create(ctx, web1)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := pods.Await(ctx, web1); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(byNode.Len("node-1"), "pods on node-1")
	cancel()
	<-ended
	// Output:
	// ADDED shop/web-0 on node-1
	// ADDED shop/web-1 on node-1
	// 2 pods on node-1
}
