package events_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

// A controller records what it did. The second Event is the first one again.
func Example() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	recorder := events.New(c, events.Options{Component: "web-controller"})
	done := make(chan error)
	go func() { done <- recorder.Run(ctx) }()

	deployment := kube.Partial{Meta: kube.Meta{Namespace: "default", Name: "web", UID: "0646266b"}}
	for range 2 {
		recorder.Eventf(events.About(kube.Deployments, deployment), events.Normal, "Scaled", "made %d replicas", 3)
	}

	cancel()
	<-done // what waits is written first
	stored, _ := srv.List(kube.Events)
	for _, b := range stored {
		var e struct {
			Reason, Message string
			Count           int
		}
		err := json.Unmarshal(b, &e)
		fmt.Println(e.Reason, e.Message, e.Count, err)
	}
	fmt.Println(recorder.Stats().Written, "written,", recorder.Stats().Dropped(), "dropped")
	// Output:
	// Scaled made 3 replicas 2 <nil>
	// 2 written, 0 dropped
}
