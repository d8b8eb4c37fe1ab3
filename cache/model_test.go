package cache_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A million operations take some minutes:
//
//	go test ./cache -run TestInformerModel -model.ops 1000000 -timeout 60m
//
// and a seed that failed is played again by -run TestInformerModel/seed=17$.
// A seed gives the operations; how they interleave with the network is the
// scheduler's.
var modelOps = flag.Int("model.ops", 3000, "operations of TestInformerModel")

const (
	opsOfASeed = 1500
	opsToCheck = 250
)

// TestInformerModel lets random things happen to a server, its network and the
// consumers of informers of all kinds. Each consumer sees legal deltas only, and
// once it is quiet each believes what the server has.
func TestInformerModel(t *testing.T) {
	for seed := range uint64(max(1, *modelOps/opsOfASeed)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, seed, dir)
				m.start()
				for n := range min(opsOfASeed, *modelOps) {
					if n%opsToCheck == opsToCheck-1 {
						m.check()
					}
					if m.act(); t.Failed() {
						break
					}
				}
				if m.check(); t.Failed() {
					t.Errorf("the last operations were\n\t%s", strings.Join(m.log, "\n\t"))
				}
				m.end()
			})
		})
	}
}

// model is a server, informers of all kinds, and what may happen to them.
type model struct {
	t      *testing.T
	rnd    *rand.Rand
	srv    *apitest.Server
	client *client.Client
	things client.Collection[thing]
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	main    *subject[thing]
	others  []checked
	group   cache.Group
	holds   []hold
	mortal  *mortal
	faults  []*apitest.Fault
	floor   uint64      // of the history
	restore bool        // the history is long enough for it
	cancels bool        // FIFOOptions.Cancel of the mortal's consumer
	lax     atomic.Bool // it was restored
	log     []string
}

type checked interface {
	differs(truth map[kube.Key]fact) string
}

// hold is a shared informer of the group.
type hold struct {
	checked
	release func()
}

var modelThings = kube.Resource{Group: "example.com", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true}

func newModel(t *testing.T, seed uint64, dir string) *model {
	o := apitest.Options{InMemory: true, Seed: seed, Resources: []apitest.ResourceInfo{{Resource: modelThings}}, CompressWatch: seed%4 == 3}
	if seed%3 == 1 {
		o.WatchBuffer = 8
	}
	if seed%5 == 4 {
		o.History = 40
	}
	srv := apitest.NewWith(t, o)
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{
		t: t, rnd: rand.New(rand.NewPCG(seed, 2)), srv: srv, client: c, things: client.Of[thing](c, modelThings),
		restore: o.History == 0, cancels: seed%2 == 0, floor: number(srv.Revision()),
	}
	m.ctx, m.cancel = context.WithCancel(t.Context())
	m.mortal = &mortal{model: m, path: filepath.Join(dir, "things"), dealt: map[kube.Key]string{}}
	return m
}

// begin runs an informer of its own.
func begin[T known](m *model, name string, c client.Collection[T], o cache.Options[T]) *subject[T] {
	s := &subject[T]{name: name, i: cache.New(c, o)}
	m.wg.Go(func() { s.i.Run(m.ctx) })
	return s
}

// handle adds a handler.
func handle[T known](m *model, s *subject[T], name string) (*believer[T], *cache.Handler[T]) {
	b := newBeliever[T](m, s.name+"/"+name)
	h := s.i.Handle(b.take)
	b.mu.Lock()
	b.synced = h.Synced()
	b.mu.Unlock()
	s.believers = append(s.believers, b)
	return b, h
}

// follow adds a consumer of Changes.
func follow[T known](m *model, s *subject[T], o cache.FIFOOptions, slow time.Duration) {
	b := newBeliever[T](m, fmt.Sprintf("%s/changes %+v", s.name, o))
	b.slow = slow
	s.believers = append(s.believers, b)
	m.wg.Go(func() {
		for d := range s.i.Changes(m.ctx, o) {
			b.take(d)
		}
	})
}

func isWeb[T known](o T) bool { return o.GetLabels()["app"] == "web" }

// start brings up an informer of each kind.
func (m *model) start() {
	for range 10 {
		m.write()
	}
	m.main = begin(m, "main", m.things, cache.Options[thing]{})
	m.main.index()
	handle(m, m.main, "first")
	again, h := handle(m, m.main, "resync")
	again.resync.Store(true)
	h.ResyncEvery(time.Minute)
	filtered := newBeliever[thing](m, "main/filter")
	filtered.keep = isWeb[thing]
	m.main.i.HandleSelected(isWeb[thing], filtered.take)
	m.main.believers = append(m.main.believers, filtered)
	follow(m, m.main, cache.FIFOOptions{}, 20*time.Second)
	follow(m, m.main, cache.FIFOOptions{Cancel: true}, 20*time.Second)

	web, err := kube.ParseSelector("app=web")
	if err != nil {
		m.t.Fatal(err)
	}
	selected := begin(m, "selected", m.things.Where(web, kube.FieldSelector{}), cache.Options[thing]{})
	selected.covers = func(_ kube.Key, f fact) bool { return f.labels["app"] == "web" }
	selected.index()
	handle(m, selected, "first")
	merged := begin(m, "merged", m.things, cache.Options[thing]{Namespaces: []string{"a", "b"}})
	merged.covers = func(k kube.Key, _ fact) bool { return k.Namespace != "c" }
	handle(m, merged, "first")
	follow(m, merged, cache.FIFOOptions{}, time.Second)
	paged := begin(m, "paged", client.Of[codec.Raw](m.client, modelThings), cache.Options[codec.Raw]{Watch: watch.Options{Initial: watch.Paged, Limit: 3}})
	paged.lazy = true
	paged.index()
	handle(m, paged, "first")
	slow := begin(m, "slow", client.Of[kube.Partial](m.client, modelThings), cache.Options[kube.Partial]{})
	slow.lazy = true
	b, _ := handle(m, slow, "first")
	b.mu.Lock()
	b.slow = 3 * time.Second
	b.mu.Unlock()

	m.mortal.live()
	m.wg.Go(func() { m.group.Run(m.ctx) })
	m.others = []checked{m.main, selected, merged, paged, slow, m.mortal}
}

func (m *model) end() {
	m.cancel()
	m.mortal.die()
	m.wg.Wait()
	m.client.CloseIdleConnections()
}

// truth is what the server has.
func (m *model) truth() map[kube.Key]fact {
	truth := map[kube.Key]fact{}
	objects, _ := m.srv.List(modelThings)
	for _, b := range objects {
		o, err := codec.Decode[kube.Partial](b)
		if err != nil {
			m.t.Fatal(err)
		}
		_, err = codec.Decode[thing](b)
		truth[kube.KeyOf(o)] = fact{o.UID, o.ResourceVersion, o.Labels, err != nil}
	}
	return truth
}

// heal ends all faults.
func (m *model) heal() {
	for _, f := range m.faults {
		f.Remove()
	}
	m.faults = nil
}

// check ends all faults and waits until everybody believes the truth.
func (m *model) check() {
	if m.t.Failed() {
		return
	}
	m.heal()
	m.note("check")
	truth := m.truth()
	began := time.Now()
	for {
		<-time.After(time.Minute)
		synctest.Wait()
		why := m.differs(truth)
		if why == "" {
			break
		}
		if time.Since(began) > 12*time.Hour {
			m.t.Errorf("after %v of quiet: %s", time.Since(began), why)
			return
		}
	}
	ctx, cancel := context.WithTimeout(m.ctx, 10*time.Minute)
	defer cancel()
	key := kube.Key{Namespace: "a", Name: "written"}
	rev := m.put(key)
	if err := m.main.i.WaitRevision(ctx, rev); err != nil {
		m.t.Error(err)
	}
	o, ok := m.main.i.Store().Get(key)
	if f := m.truth()[key]; !f.bad && (!ok || o.ResourceVersion != f.revision) {
		m.t.Errorf("at revision %s the store has %s at %q, not %s", rev, key, o.ResourceVersion, f.revision)
	}
}

func (m *model) differs(truth map[kube.Key]fact) string {
	for _, s := range m.others {
		if why := s.differs(truth); why != "" {
			return why
		}
	}
	for _, h := range m.holds {
		if why := h.differs(truth); why != "" {
			return why
		}
	}
	return ""
}
