// Rows serves pods to programs that print them, such as kubectl, at next to no
// cost of its own: what the fake API server of package apitest answers to the
// first run of a program is kept, and given to the next runs as it is. So their
// time is the program's.
//
// Each program has an address of its own. They are printed, one a line:
//
//	go run ./cmd/rows -objects 10000 -events 1000 kubectl listwatch
//
// A run is: start the program, POST /bench/go for the events, end the program,
// POST /bench/rewind. The first one is the recording.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/bench/workload"
	"github.com/listwatch/listwatch/kube"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

func run() error {
	objects := flag.Int("objects", 10000, "how many pods, a multiple of 50")
	events := flag.Int("events", 10000, "how many changes of theirs")
	flag.Parse()
	if *objects <= 0 || *objects%workload.Namespaces != 0 {
		return fmt.Errorf("%d objects are not a multiple of %d", *objects, workload.Namespaces)
	}
	c, err := newCluster(*objects, *events)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range flag.Args() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go func() { failed <- http.Serve(l, newTape(c.server, c.change)) }()
		fmt.Printf("http://%s\n", l.Addr())
	}
	return <-failed
}

// cluster is a fake API server with pods.
type cluster struct {
	server    *apitest.Server
	templates []workload.Template
	objects   int
	events    int
	restarts  int // of each pod, until now
}

func newCluster(objects, events int) (*cluster, error) {
	pods, err := workload.ByPlural("pods")
	if err != nil {
		return nil, err
	}
	c := &cluster{objects: objects, events: events}
	if c.templates, err = pods.Templates(workload.Form{}); err != nil {
		return nil, err
	}
	c.server, err = apitest.Start(apitest.Options{
		InMemory: true, History: objects + events, HistoryBytes: 1 << 30, BookmarkInterval: -1, NoValidation: true, NoManagedFields: true,
	})
	if err != nil {
		return nil, err
	}
	for i := range objects {
		if err := c.put(i); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// put writes a pod as it is now.
func (c *cluster) put(i int) error {
	b := c.templates[i%len(c.templates)].Append(nil, i, c.objects, 1)
	b = bytes.ReplaceAll(b, []byte(`"restartCount":0`), fmt.Appendf(nil, `"restartCount":%d`, c.restarts))
	if c.server.Put(kube.Pods, b) == "" {
		return fmt.Errorf("the server does not take pod %d", i)
	}
	return nil
}

// change restarts containers of pods: some, or all in turn.
func (c *cluster) change() error {
	for k := range c.events {
		if k%c.objects == 0 {
			c.restarts++
		}
		if err := c.put(k % c.objects); err != nil {
			return err
		}
	}
	return nil
}
