// Command listwatch watches Kubernetes objects and does not go quiet: a broken
// connection is resumed where it broke, an expired history is listed again and
// compared, and what was deleted meanwhile is printed too. It never exits 0 because
// a server closed a stream.
//
//	listwatch watch pods                  # rows, as kubectl get -w, with the event
//	listwatch watch deploy,pods -A -o ndjson
//	listwatch list nodes -o wide
//	listwatch auth check pods             # may we, and if not, why not
//	listwatch demo                        # without a cluster
//	listwatch fake serve --simulate       # a cluster of its own, for any client
//	listwatch record pods --file FILE     # and listwatch replay FILE
//
// Stdout is data, stderr is talk. Installed as kubectl-listwatch it is a kubectl
// plugin. Exit codes: 0 an end that was asked for, 1 failure, 2 usage or
// configuration, 3 --fail-on, 4 --timeout, 5 --exec-max-errors, 6 a checkpoint of something
// else, 129, 130, 143 and 141 for SIGHUP, SIGINT, SIGTERM and a closed stdout.
//
// Reading order: run.go, watch.go, target.go, session.go, stream.go, print.go.
package main

import (
	"io"
	"log"
	"os"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs what a server sends that it does not expect, without a limit
	ctx, stop := signals.Context()
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
