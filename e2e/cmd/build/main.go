// Command build builds the programs that the end-to-end tests run, unless the
// cache folder has them, and prints their paths, one a line. Without arguments
// it builds kube-apiserver and etcd; arguments name others: kubectl, kubectl-1.36,
// kube-controller-manager.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/listwatch/listwatch/e2e/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{string(binaries.APIServer), string(binaries.Etcd)}
	}
	for _, arg := range args {
		path, err := binaries.Ensure(ctx, binaries.Program(arg), stderr)
		if err != nil {
			fmt.Fprintln(stderr, "build:", err)
			return 1
		}
		fmt.Fprintln(stdout, path)
	}
	return 0
}
