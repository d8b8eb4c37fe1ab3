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
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"

	"github.com/listwatch/listwatch/bench/probe"
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
	transport := flag.String("transport", probe.Plain, "http, https (HTTP/1.1 over TLS) or h2 (HTTP/2 over TLS)")
	ca := flag.String("ca", "", "file to write the authority of its certificate to, with https and h2")
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
	h := newServer(kind, *objects)
	if *transport == probe.Plain {
		fmt.Printf("http://%s\n", l.Addr())
		return http.Serve(l, h)
	}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}, EnableHTTP2: *transport == probe.HTTP2}
	srv.StartTLS()
	defer srv.Close()
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(*ca, b, 0o600); err != nil {
		return err
	}
	fmt.Println(srv.URL)
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt)
	<-end
	return nil
}
