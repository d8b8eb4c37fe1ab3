// Command corpus makes the recordings in ../testdata/recordings: what the real
// kube-apiserver sends while a Deployment rolls, a Node is drained, a CRD comes and
// goes, history expires again and again, and the apiserver restarts.
//
//	go run ./cmd/corpus                   all of them
//	go run ./cmd/corpus drain gone-storm  these
//
// Each story has a cluster of its own, and is followed by the engine's informers,
// whose traffic and events are recorded. Beside the recording stands what they
// delivered to their handlers, NAME.deltas: package replay's tests hold each way to play
// the recording against it. See README.md in that folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// story is something that happens to a cluster.
type story struct {
	name    string // of the recording; compressed where it would be larger than 150 kB
	suffix  string
	origin  string
	options cluster.Options
	play    func(context.Context, *stage) error
}

const (
	plain      = ".lwrec.ndjson"
	compressed = ".lwrec.ndjson.gz"
)

func stories() []story {
	controllers := cluster.Options{ControllerManager: true}
	return []story{
		{"rolling-update", compressed, "a Deployment of 3 replicas gets another image", controllers, rollingUpdate},
		{"drain", compressed, "a Node is cordoned and its Pods are evicted, under a disruption budget that lets one go at a time", controllers, drain},
		{"crd-added", plain, "a CRD is made, used, deleted and made again, while its resource is asked for all the time", cluster.Options{}, crdAdded},
		{"gone-storm", plain, "connections are cut and etcd is compacted, again and again, also between the pages of lists", cluster.Options{}, goneStorm},
		{"restart", plain, "the apiserver is killed, killed again while much changes, and stopped in good order", cluster.Options{}, restart},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", filepath.Join("..", "testdata", "recordings"), "folder of the recordings")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	all, code := stories(), 0
	for _, name := range flags.Args() {
		if !slices.ContainsFunc(all, func(s story) bool { return s.name == name }) {
			fmt.Fprintf(stderr, "corpus: no story is called %q\n", name)
			return 2
		}
	}
	for _, s := range all {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), s.name) {
			continue
		}
		start := time.Now()
		size, err := record(ctx, *dir, s, stderr)
		if err != nil {
			fmt.Fprintf(stderr, "corpus: %s: %v\n", s.name, err)
			code = 1
			continue
		}
		fmt.Fprintf(stderr, "%s: %d bytes in %s\n", s.name, size, time.Since(start).Round(time.Millisecond))
	}
	return code
}

// storyTimeout bounds a story, once its cluster runs.
const storyTimeout = 3 * time.Minute

// record plays a story and replaces its two files, unless it fails.
func record(ctx context.Context, dir string, s story, stderr io.Writer) (size int64, err error) {
	temp, err := os.MkdirTemp("", "listwatch-corpus-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	s.options.Progress = stderr
	c, err := cluster.Start(ctx, s.options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, storyTimeout, fmt.Errorf("it took more than %s", storyTimeout))
	defer cancel()
	recording := filepath.Join(temp, s.name+s.suffix)
	st, err := newStage(ctx, c, recording, s.origin)
	if err != nil {
		return 0, err
	}
	err = s.play(ctx, st)
	deltas, cerr := st.close()
	if err = errors.Join(err, cerr); err != nil {
		return 0, fmt.Errorf("%w\n%s%s", err, deltas, c.LogTail())
	}
	for _, f := range []struct {
		name string
		from string
		data string
	}{{filepath.Base(recording), recording, ""}, {s.name + ".deltas", "", deltas}} {
		data := []byte(f.data)
		if f.from != "" {
			if data, err = os.ReadFile(f.from); err != nil {
				return 0, err
			}
			size = int64(len(data))
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), data, 0o644); err != nil {
			return 0, err
		}
	}
	return size, nil
}
