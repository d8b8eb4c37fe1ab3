package library_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// 50 stops take some minutes: go test -run TestInformerStops -stops 50
var (
	stops    = flag.Int("stops", 10, "stops of TestInformerStops")
	stopSeed = flag.Uint64("stops.seed", 0, "of what chance decides in TestInformerStops; 0 = a new one, which is printed")
)

const stoppedIn = "default"

// writtenMap is what the writers of TestInformerStops know of one.
type writtenMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}

// TestInformerStops stops an informer with a snapshot at random moments under writes to
// a real apiserver, and begins another with what it left. No deletion is delivered that
// did not happen, none is missed, and in the end the store is what the server has.
func TestInformerStops(t *testing.T) {
	seed := *stopSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-stops.seed %d", seed)
	c := cluster.ForTest(t, cluster.Options{})
	cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.CloseIdleConnections()
	s := &stopped{
		T: t, maps: client.Of[writtenMap](cl, kube.ConfigMaps).In(stoppedIn), seen: client.Of[kube.Partial](cl, kube.ConfigMaps).In(stoppedIn),
		snapshot: cache.Snapshot{Path: filepath.Join(t.TempDir(), "maps"), Cluster: "c1", Every: 50 * time.Millisecond},
		known:    map[kube.Key]string{},
		dice:     rand.New(rand.NewPCG(seed, 0)), slow: rand.New(rand.NewPCG(seed, 1)),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() { s.write(ctx, n, rand.New(rand.NewPCG(seed, 2+uint64(n)))) })
	}
	for range *stops {
		s.live(t.Context(), true)
	}
	cancel()
	writers.Wait()
	s.live(t.Context(), false)
}

// stopped is a consumer that outlives the informers that it has.
type stopped struct {
	*testing.T
	maps     client.Collection[writtenMap]
	seen     client.Collection[kube.Partial]
	snapshot cache.Snapshot
	dice     *rand.Rand // decides when a life ends
	slow     *rand.Rand // decides how long the handler takes

	mu      sync.Mutex
	known   map[kube.Key]string       // UIDs, over all lives
	pending map[kube.Key]string       // not delivered since the life began
	objects map[kube.Key]kube.Partial // of the life
	deltas  int
	last    int           // the delta at which the life is stopped
	reached chan struct{} // closed then
}

// write writes as fast as the server lets it. Each writer has names of its own.
func (s *stopped) write(ctx context.Context, writer int, dice *rand.Rand) {
	for ctx.Err() == nil {
		k := kube.Key{Namespace: stoppedIn, Name: fmt.Sprintf("x%d-%d", writer, dice.IntN(20))}
		var err error
		if dice.IntN(3) == 0 {
			err = s.maps.Delete(ctx, k, client.DeleteOptions{})
		} else if _, err = s.maps.Create(ctx, writtenMap{Meta: kube.Meta{Namespace: k.Namespace, Name: k.Name}}); errors.Is(err, kube.ErrExists) {
			_, err = s.maps.Patch(ctx, k, client.MergePatch, map[string]any{"data": map[string]string{"n": fmt.Sprint(dice.Int())}})
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, kube.ErrNotFound) {
			s.Error(err)
			return
		}
	}
}

// live runs an informer, and stops it at a random moment or has it settle.
func (s *stopped) live(ctx context.Context, stop bool) {
	s.mu.Lock()
	s.pending, s.objects, s.deltas = maps.Clone(s.known), map[kube.Key]kube.Partial{}, 0
	s.last, s.reached = 1+s.dice.IntN(400), make(chan struct{})
	s.mu.Unlock()
	i := cache.New(s.seen, cache.Options[kube.Partial]{Snapshot: s.snapshot, OnError: func(err error) {
		if i := (*watch.Interruption)(nil); !errors.As(err, &i) {
			s.Error(err)
		}
	}})
	i.Handle(s.take)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = i.Run(ctx)
	}()
	if stop {
		select {
		case <-s.reached:
		case <-time.After(10 * time.Second): // so many do not happen
		}
	} else {
		s.settle(ctx, i)
	}
	cancel()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Logf("%d deltas", s.deltas)
}

// take is the handler.
func (s *stopped) take(d cache.Delta[kube.Partial]) {
	time.Sleep(time.Duration(s.slow.Int64N(int64(time.Millisecond))))
	if d.Type == watch.Deleted {
		if o, err := s.seen.Get(s.Context(), d.Key); err == nil && o.UID == d.UID && o.DeletionTimestamp == nil {
			s.Errorf("a deletion of %s %s that did not happen", d.Key, d.UID)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deltas++; s.deltas == s.last {
		close(s.reached)
	}
	if last, have := s.objects[d.Key]; have == (d.Type == watch.Added) || have && last.ResourceVersion != d.Old.ResourceVersion {
		s.Errorf("%s of %s from %q, after %q", d.Type, d.Key, d.Old.ResourceVersion, last.ResourceVersion)
	}
	if s.pending[d.Key] == d.UID {
		delete(s.pending, d.Key)
	}
	if d.Type == watch.Deleted {
		delete(s.objects, d.Key)
		delete(s.known, d.Key)
		return
	}
	s.objects[d.Key], s.known[d.Key] = d.New, d.UID
}

// settle waits until the informer is at the server's revision, and compares.
func (s *stopped) settle(ctx context.Context, i *cache.Informer[kube.Partial]) {
	last, err := s.maps.Create(ctx, writtenMap{Meta: kube.Meta{Namespace: stoppedIn, Name: "last"}})
	if err != nil {
		s.Fatal(err)
	}
	if err := i.WaitRevision(ctx, kube.Revision(last.ResourceVersion)); err != nil {
		s.Fatal(err)
	}
	want := map[kube.Key]string{}
	for o, err := range list.New(s.seen, list.Options{}).All(ctx) {
		if err != nil {
			s.Fatal(err)
		}
		want[kube.KeyOf(o)] = o.UID + "@" + o.ResourceVersion
	}
	states := func(objects iter.Seq2[kube.Key, kube.Partial]) map[kube.Key]string {
		got := map[kube.Key]string{}
		for k, o := range objects {
			got[k] = o.UID + "@" + o.ResourceVersion
		}
		return got
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, states(i.Store().All())); diff != "" {
		s.Errorf("the store (-server +store):\n%s", diff)
	}
	if diff := cmp.Diff(want, states(maps.All(s.objects))); diff != "" {
		s.Errorf("delivered (-server +delivered):\n%s", diff)
	}
	if diff := cmp.Diff(map[kube.Key]string{}, s.pending); diff != "" {
		s.Errorf("known when the life began and not delivered:\n%s", diff)
	}
}
