// Server serves one collection as a kube-apiserver would, at next to no cost of
// its own: every object lies rendered in memory, and an answer is a copy of it.
// So the time of a run is the client's.
//
// It serves paged LISTs, WATCHes with and without sendInitialEvents, of all
// namespaces or of one, in JSON, in protobuf, and as PartialObjectMetadata. The
// events of a watch wait for a POST to /bench/go, so that a client can measure
// its synchronisation and the events apart. See package probe for the rest of
// what is under /bench.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/listwatch/listwatch/bench/workload"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	plural := flag.String("kind", "pods", "what to serve: pods, configmaps, widgets or blobs")
	objects := flag.Int("objects", 30000, "how many objects, a multiple of 50")
	flag.Parse()

	kind, err := workload.ByPlural(*plural)
	if err != nil {
		return err
	}
	if *objects <= 0 || *objects%workload.Namespaces != 0 {
		return fmt.Errorf("%d objects are not a multiple of %d", *objects, workload.Namespaces)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, newServer(kind, *objects))
}
