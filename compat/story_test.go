package compat_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/listwatch/listwatch/e2e/cluster"
)

var transcripts = flag.String("transcripts", "", "folder to write the transcripts to, for a diff of one's own")

// patience is how long a story waits for what must happen.
const patience = 40 * time.Second

// story is what one client does. It returns what the client saw.
type story struct {
	name string
	play func(t *testing.T, s *server) *transcript
}

// TestCompat plays every story on both servers. The real one starts when the
// first story needs it.
func TestCompat(t *testing.T) {
	quiet()
	start := sync.OnceValues(func() (*cluster.Cluster, error) { return startCluster(t) })
	for _, st := range stories() {
		t.Run(st.name, func(t *testing.T) { both(t, st, start) })
	}
	t.Run("Random", func(t *testing.T) {
		t.Run("same", func(t *testing.T) { testRandom(t, start) })
	})
}

// startCluster starts a cluster that ends with the test.
func startCluster(t *testing.T) (*cluster.Cluster, error) {
	c, err := cluster.Start(t.Context(), cluster.Options{})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.LogTail())
		}
		if err := c.Stop(); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c, nil
}

// quiet turns the clients' logs off: what they would say is in the transcripts.
func quiet() {
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
}

func stories() []story {
	return slices.Concat(informerStories(), electionStories(), managerStories(), kubectlStories())
}

// both plays a story on both servers and compares the transcripts, if both
// stories came to their end.
func both(t *testing.T, st story, start func() (*cluster.Cluster, error)) {
	var got, want *transcript
	keep := func(t *testing.T, server string, r *transcript) {
		if *transcripts != "" {
			write(t, *transcripts, st.name, server, r.lines(st.name))
		}
	}
	t.Run(fake, func(t *testing.T) {
		got = st.play(t, startFake(t))
		keep(t, fake, got)
	})
	t.Run(real, func(t *testing.T) {
		c, err := start()
		if err != nil {
			t.Fatalf("start a cluster: %v", err)
		}
		want = st.play(t, realServer(t, c))
		keep(t, real, want)
	})
	if got == nil || want == nil {
		return
	}
	t.Run("same", func(t *testing.T) {
		w, g := want.lines(st.name), got.lines(st.name)
		if diff := cmp.Diff(strings.Join(w, "\n"), strings.Join(g, "\n")); diff != "" {
			t.Errorf("(-kube-apiserver +apitest):\n%s", diff)
		}
	})
}

func write(t *testing.T, dir, story, server string, lines []string) {
	t.Helper()
	path := fmt.Sprintf("%s/%s.%s.txt", dir, strings.ReplaceAll(story, "/", "_"), server)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// transcript is what a client saw, in steps. It may be written by many
// goroutines.
type transcript struct {
	mu    sync.Mutex
	steps []string
	texts map[string][]string
}

// add notes lines under a step. The steps come in the order of their first line.
func (r *transcript) add(step string, lines ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.texts == nil {
		r.texts = make(map[string][]string)
	}
	if _, ok := r.texts[step]; !ok {
		r.steps = append(r.steps, step)
	}
	for _, l := range lines {
		r.texts[step] = append(r.texts[step], strings.Split(strings.TrimRight(l, "\n"), "\n")...)
	}
}

// lines returns the transcript, less what is known to differ in the story.
func (r *transcript) lines(story string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, step := range r.steps {
		all = append(all, "== "+step)
		all = append(all, accept(story, step, r.texts[step])...)
	}
	return all
}
