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

	inParallel bool // the two plays of it, which share nothing
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
	return slices.Concat(informerStories(), electionStories(), leaseStories(), managerStories(), kubectlStories())
}

// both plays a story on both servers and compares the transcripts, if both plays
// came to their end.
func both(t *testing.T, st story, start func() (*cluster.Cluster, error)) {
	var got, want *transcript
	t.Cleanup(func() { // when the sub-tests have ended
		if got != nil && want != nil {
			compare(t, st.name, want, got)
		}
	})
	play := func(name string, f func(t *testing.T) *transcript, to **transcript) {
		t.Run(name, func(t *testing.T) {
			if st.inParallel {
				t.Parallel()
			}
			*to = f(t)
			if *transcripts != "" && *to != nil {
				write(t, *transcripts, st.name, name, (*to).lines(st.name))
			}
		})
	}
	play(fake, func(t *testing.T) *transcript { return st.play(t, startFake(t)) }, &got)
	play(real, func(t *testing.T) *transcript {
		c, err := start()
		if err != nil {
			t.Fatalf("start a cluster: %v", err)
		}
		return st.play(t, realServer(t, c))
	}, &want)
}

func compare(t *testing.T, name string, want, got *transcript) {
	t.Helper()
	w, g := want.lines(name), got.lines(name)
	if slices.Equal(w, g) {
		return
	}
	t.Errorf("(-kube-apiserver +apitest):\n%s", cmp.Diff(w, g))
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
