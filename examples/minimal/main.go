// Command minimal is a minimal program that embeds the engine: it prints every change
// of the config maps of a cluster until it is interrupted. In a pod it needs no
// argument; elsewhere its argument is the URL of a server:
//
//	kubectl proxy &
//	go run ./examples/minimal http://127.0.0.1:8001
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// ConfigMap has the fields that the program needs: the metadata and the data.
type ConfigMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, _, err := client.InCluster()
	if len(os.Args) > 1 {
		cfg, err = client.Config{Server: os.Args[1]}, nil
	}
	if err == nil {
		err = run(ctx, cfg, os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

// run returns the error that ended the watch: a healthy watch does not end by itself.
func run(ctx context.Context, cfg client.Config, stdout, stderr io.Writer) error {
	c, err := client.New(cfg)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()

	var last error
	w := watch.New(client.Of[ConfigMap](c, kube.ConfigMaps), watch.Options{})
	for ev, err := range w.Events(ctx) {
		last = err
		switch {
		case err != nil:
			fmt.Fprintln(stderr, "#", err) // the watcher continues, unless the loop ends
		case ev.Type == watch.Restart, ev.Type == watch.Synced, ev.Type == watch.Bookmark:
			fmt.Fprintln(stdout, ev.Type, ev.Revision)
		default:
			fmt.Fprintln(stdout, ev.Type, ev.Key, len(ev.Object.Data), "keys")
		}
	}
	return last
}
