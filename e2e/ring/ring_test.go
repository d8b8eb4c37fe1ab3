// Package ring_test runs the replicas of a controller on a ring as processes beside a real
// kube-apiserver, and kills, adds and freezes them.
package ring_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"

	"github.com/listwatch/listwatch/e2e/cluster"
)

const objects = 60

// TestReplicas: three replicas share the objects; one is killed, one is added, and one is
// frozen until others have its share, and wakes up. Every object is worked on by somebody,
// and no replica writes to an object that a later owner has written to.
func TestReplicas(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{APIServerArgs: []string{"--feature-gates=ShardedListAndWatch=true"}})
	s := newStage(t, c)
	a, b, last := s.join("replica-a"), s.join("replica-b"), s.join("replica-c")
	s.settled("three", a, b, last)

	s.busy(time.Second)
	b.signal(syscall.SIGKILL)
	s.busy(5 * time.Second)
	s.settled("killed", a, last)

	added := s.join("replica-d")
	s.busy(2 * time.Second)
	s.settled("added", a, last, added)

	for i := range objects { // it is frozen amid its work
		s.put(i, "before")
	}
	a.signal(syscall.SIGSTOP)
	s.busy(time.Second)
	s.settled("frozen", last, added)
	a.signal(syscall.SIGCONT)
	s.busy(5 * time.Second)
	s.settled("awake", a, last, added)
}

// stage is a cluster with objects, and what happens to them.
type stage struct {
	t      *testing.T
	config string
	maps   client.Collection[configMap]
	dice   *rand.Rand

	mu      sync.Mutex
	objects map[string]configMap // as last seen
	changed chan struct{}        // closed at the next event
}

func newStage(t *testing.T, c *cluster.Cluster) *stage {
	t.Helper()
	cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.CloseIdleConnections)
	s := &stage{t: t, config: filepath.Join(t.TempDir(), "config"), maps: client.Of[configMap](cl, kube.ConfigMaps).In("default"),
		dice: rand.New(rand.NewPCG(1, 2)), objects: map[string]configMap{}, changed: make(chan struct{})}
	if err := c.Kubeconfig(s.config, c.URL()); err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		if _, err := s.maps.Create(t.Context(), configMap{Meta: kube.Meta{Name: nameOf(i)}, Data: map[string]string{"wanted": "first"}}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var judging sync.WaitGroup
	judging.Go(func() { s.judge(ctx) })
	t.Cleanup(func() { cancel(); judging.Wait() })
	return s
}

func nameOf(i int) string { return fmt.Sprintf("n-%02d", i) }

// judge sees every write, and that the tokens in an object only grow.
func (s *stage) judge(ctx context.Context) {
	for ev, err := range watch.New(s.maps, watch.Options{}).Events(ctx) {
		if err != nil || ev.Type != watch.Added && ev.Type != watch.Modified {
			continue
		}
		s.mu.Lock()
		old, o := s.objects[ev.Key.Name], ev.Object
		before, after := kube.Revision(old.Annotations[revisionOf]), kube.Revision(o.Annotations[revisionOf])
		if before.Newer(after) {
			s.t.Errorf("%s: %s wrote with the token %s after %s with %s", ev.Key, o.Annotations["example.com/by"], after, old.Annotations["example.com/by"], before)
		}
		s.objects[ev.Key.Name] = o
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
	}
}

func (s *stage) put(i int, value string) {
	s.t.Helper()
	_, err := s.maps.Edit(s.t.Context(), kube.Key{Namespace: "default", Name: nameOf(i)}, func(o *configMap) error {
		o.Data["wanted"] = value
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// busy changes objects all the time.
func (s *stage) busy(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.put(s.dice.IntN(objects), fmt.Sprint(s.dice.Uint64()))
	}
}

// settled changes all objects until these replicas, each of them, have worked on them all.
func (s *stage) settled(value string, replicas ...*process) {
	s.t.Helper()
	limit := time.After(2 * time.Minute)
	for round := 0; ; round++ {
		want := fmt.Sprint(value, " ", round)
		for i := range objects {
			s.put(i, want)
		}
		by, ok := s.done(want, limit)
		if !ok {
			s.t.Fatalf("%s: not all objects were worked on; by whom: %v", value, by)
		}
		missing := 0
		for _, r := range replicas {
			if by[r.name] == 0 {
				missing++
			}
			delete(by, r.name)
		}
		if missing == 0 && len(by) == 0 {
			return
		}
	}
}

// done waits until all objects are worked on, and returns how many by whom.
func (s *stage) done(want string, limit <-chan time.Time) (by map[string]int, ok bool) {
	for {
		s.mu.Lock()
		n, changed := 0, s.changed
		by = map[string]int{}
		for _, o := range s.objects {
			if o.Data["done"] == want {
				n++
				by[o.Annotations["example.com/by"]]++
			}
		}
		s.mu.Unlock()
		if n == objects {
			return by, true
		}
		select {
		case <-changed:
		case <-limit:
			return by, false
		}
	}
}

// process is a replica.
type process struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
}

// join starts a replica, which ends with the test.
func (s *stage) join(name string) *process {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RING_REPLICA="+name, "RING_CONFIG="+s.config)
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // by a signal
		if text := out.String(); s.t.Failed() || strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic") {
			s.t.Errorf("%s said:\n%s", name, text)
		}
	})
	return &process{s.t, name, cmd}
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}
