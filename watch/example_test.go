package watch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

func Example() {
	// A fake API server; in life this is a cluster, and package config finds it.
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web-0"}}`)

	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := client.Of[kube.Partial](c, kube.Pods).In("shop")
	for ev, err := range watch.New(pods, watch.Options{}).Events(context.Background()) {
		var interruption *watch.Interruption
		switch {
		case errors.As(err, &interruption):
			fmt.Println("interruption:", interruption) // the watcher retries
			continue
		case err != nil:
			fmt.Println("over:", err)
			continue
		}
		fmt.Printf("%s %q\n", ev.Type, ev.Key.Name)
		switch {
		case ev.Type == watch.Synced:
			srv.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web-1"}}`)
			srv.Delete(kube.Pods, kube.Key{Namespace: "shop", Name: "web-0"})
		case ev.Type == watch.Deleted:
			return // leaving the loop ends the watch
		}
	}
	// Output:
	// RESTART ""
	// ADDED "web-0"
	// SYNCED ""
	// ADDED "web-1"
	// DELETED "web-0"
}

// A single WATCH request, without lists, retries or resumes.
func ExampleOnce() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.Nodes, `{"metadata":{"name":"node-a"}}`)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range watch.Once(context.Background(), client.Of[kube.Partial](c, kube.Nodes), "", watch.Options{}) {
		if err != nil || ev.Type == watch.Synced {
			break
		}
		fmt.Println(ev.Type, ev.Key)
	}
	// Output:
	// ADDED node-a
}
