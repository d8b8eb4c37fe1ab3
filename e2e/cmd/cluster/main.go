// Command cluster runs a kube-apiserver with etcd until it is interrupted, for
// a person to try things on. It prints the path of a kubeconfig.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		fmt.Fprintf(os.Stderr, "cluster: %q: there are no arguments; it prints the path of a kubeconfig and runs until it is interrupted\n", os.Args[1])
		os.Exit(2)
	}
	os.Exit(run(ctx, os.Stdout, os.Stderr))
}

func run(ctx context.Context, stdout, stderr io.Writer) int {
	start := time.Now()
	c, err := cluster.Start(ctx, cluster.Options{Progress: stderr})
	if err != nil {
		fmt.Fprintln(stderr, "cluster:", err)
		return 1
	}
	path := filepath.Join(c.Dir(), "kubeconfig")
	err = c.Kubeconfig(path, c.URL())
	if err == nil {
		fmt.Fprintf(stderr, "ready after %s at %s; interrupt ends it and removes its data\n",
			time.Since(start).Round(time.Millisecond), c.URL())
		fmt.Fprintln(stdout, path)
		<-ctx.Done()
	}
	if serr := c.Stop(); err == nil {
		err = serr
	}
	if err != nil {
		fmt.Fprintln(stderr, "cluster:", err)
		return 1
	}
	return 0
}
