package checkpoint_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/codec"
)

// A run tells of a pod; the next one knows it, and where to go on.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state")
	id := checkpoint.Identity{Server: "https://cluster", Form: "objects", Streams: []checkpoint.Stream{{Resource: "pods.v1"}}}
	pod, err := codec.ParseRaw([]byte(`{"metadata":{"namespace":"shop","name":"web","uid":"u1","resourceVersion":"7"}}`))
	if err != nil {
		log.Fatal(err)
	}

	f, _, err := checkpoint.Open(path, id)
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Put(0, checkpoint.Object{UID: "u1", Revision: "7", Raw: pod}); err != nil {
		log.Fatal(err)
	}
	f.Move(0, "9")
	if err := f.Write(); err != nil { // before it is told
		log.Fatal(err)
	}
	if err := f.Commit(); err != nil { // after
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}

	f, states, err := checkpoint.Open(path, id)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println("resume at", states[0].Revision, "knowing", states[0].Objects[0].Raw.GetName())
	// Output: resume at 9 knowing web
}
