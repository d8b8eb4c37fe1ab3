package listwatch_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A watch that loses its connection goes on where it was, and says so.
func Example() {
	srv, err := apitest.Start(apitest.Options{}) // in life this is a cluster
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"one"}}`)

	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := watch.New(client.Of[kube.Partial](c, kube.ConfigMaps), watch.Options{})
	for ev, err := range w.Events(context.Background()) {
		if hiccup := (*watch.Interruption)(nil); errors.As(err, &hiccup) {
			fmt.Println("interrupted, next:", hiccup.Next)
			continue
		}
		fmt.Printf("%s %q\n", ev.Type, ev.Key.Name)
		switch {
		case ev.Type == watch.Synced:
			srv.DropWatches() // a broken connection
			srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"two"}}`)
		case ev.Key.Name == "two":
			return
		}
	}
	// Output:
	// RESTART ""
	// ADDED "one"
	// SYNCED ""
	// interrupted, next: watch
	// ADDED "two"
}
