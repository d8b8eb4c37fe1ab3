package simulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

func Example() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.Deployments, `{"metadata":{"namespace":"shop","name":"web"},"spec":{"replicas":2,
		"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"web:1"}]}}}}`)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- simulate.New(srv, simulate.Options{Nodes: 1, Speed: 100}).Run(ctx) }()
	for ready := 0; ready < 2; {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			fmt.Println(ctx.Err())
			return
		}
		var d struct{ Status struct{ ReadyReplicas int } }
		if err := json.Unmarshal(srv.Get(kube.Deployments, kube.Key{Namespace: "shop", Name: "web"}), &d); err != nil {
			fmt.Println(err)
			return
		}
		ready = d.Status.ReadyReplicas
	}
	pods, _ := srv.List(kube.Pods)
	fmt.Println(len(pods), "pods are ready")
	cancel()
	<-ended
	// Output:
	// 2 pods are ready
}
