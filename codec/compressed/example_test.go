package compressed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/kube"
)

func Example() {
	// A fake API server; in life this is a cluster, and package config finds it.
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	for n := range 100 {
		srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web-%d","labels":{"app":"web"}},"spec":{"nodeName":"node-%d","schedulerName":"default-scheduler","restartPolicy":"Always"}}`, n, n%7))
	}
	cl, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	var c compressed.Compressor
	pods := cache.New(client.Of[compressed.Raw](cl, kube.Pods), cache.Options[compressed.Raw]{Transform: c.Compress})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitSynced(ctx); err != nil {
		fmt.Println(err)
		return
	}

	packed, _ := pods.Store().Get(kube.Key{Namespace: "shop", Name: "web-50"})
	pod, err := packed.Raw() // a copy
	if err != nil {
		fmt.Println(err)
		return
	}
	node, _ := pod.Text("spec", "nodeName")
	fmt.Println(packed.GetName(), "is on", node)
	s := c.Stats()
	fmt.Println(s.Objects, "pods, less than half:", s.BytesOut < s.BytesIn/2)
	cancel()
	<-ended
	// Output:
	// web-50 is on node-1
	// 100 pods, less than half: true
}
