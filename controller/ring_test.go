package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/watch"
)

// crew is a cluster with replicas of a controller on a ring: no two may ever work on one
// key, and each key is worked on by somebody.
type crew struct {
	t   *testing.T
	srv *apitest.Server

	mu   sync.Mutex
	at   map[kube.Key]string // who works on the key
	done map[kube.Key]string // the value that was seen last
	by   map[kube.Key]string // by whom
}

// mate is a replica: its informer and controller have the share of the ring.
type mate struct {
	*crew
	name   string
	client *client.Client
	cancel context.CancelFunc
	ended  chan struct{}

	stop     func() // of the informer and controller; used by apply only
	informer *cache.Informer[configMap]
	share    lease.Share
}

func (c *crew) join(name string) *mate {
	c.t.Helper()
	cl, err := client.New(client.Config{Server: c.srv.URL, Dial: c.srv.Dial, UserAgent: name, Warn: func(string) {}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.CloseIdleConnections)
	ring, err := lease.NewRing(cl, kube.Key{Namespace: "default", Name: "crew"}, lease.Options{Identity: name, TakeMissing: true})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &mate{crew: c, name: name, client: cl, cancel: cancel, ended: make(chan struct{}), stop: func() {}}
	go func() {
		defer close(m.ended)
		_ = ring.Run(ctx, m.apply)
	}()
	c.t.Cleanup(m.leave)
	return m
}

func (m *mate) leave() { m.cancel(); <-m.ended }

// apply ends the work on the former share, and begins that on another.
func (m *mate) apply(ctx context.Context, s lease.Share) error {
	m.stop()
	m.stop = func() {}
	m.set(nil, s)
	if ctx.Err() != nil || s.Len() == 0 {
		return nil
	}
	shard, err := s.Shard()
	if err != nil {
		return err
	}
	informer := cache.New(client.Of[configMap](m.client, kube.ConfigMaps), cache.Options[configMap]{Watch: watch.Options{Shard: shard}})
	ctl := controller.New(m.name, func(_ context.Context, k kube.Key) (controller.Result, error) {
		return controller.Result{}, m.reconcile(informer, k)
	}, controller.Options[kube.Key]{Workers: 4})
	controller.For(ctl, informer)
	m.set(informer, s)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = ctl.Run(ctx) })
	running.Go(func() { _ = informer.Run(ctx) })
	m.stop = func() { cancel(); running.Wait() }
	return nil
}

func (m *mate) set(i *cache.Informer[configMap], s lease.Share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.informer, m.share = i, s
}

// reconcile works on a key for a while.
func (m *mate) reconcile(informer *cache.Informer[configMap], k kube.Key) error {
	o, ok := informer.Store().Get(k)
	if !ok {
		return nil
	}
	m.mu.Lock()
	if who := m.at[k]; who != "" {
		m.t.Errorf("%s: %s works on %s, and %s begins to", time.Now().Format(time.StampMilli), who, k, m.name)
	}
	if !m.share.Has(o.UID) {
		m.t.Errorf("%s works on %s, which is not in its share", m.name, k)
	}
	m.at[k] = m.name
	m.mu.Unlock()
	pass(700 * time.Millisecond) // what is under way ends, also when ctx does
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[k] = ""
	m.done[k], m.by[k] = o.Data["v"], m.name
	return nil
}

func (c *crew) put(i int, value string) {
	c.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"n-%02d"},"data":{"v":%q}}`, i, value))
}

const crewKeys = 60

// settled changes all objects, and requires that somebody works on each of them: each of
// the replicas on about as many as the others.
func (c *crew) settled(value string, mates ...*mate) {
	c.t.Helper()
	pass(2 * time.Minute)
	for i := range crewKeys {
		c.put(i, value)
	}
	pass(time.Minute)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	each := map[string]int{}
	for i := range crewKeys {
		k := kube.Key{Namespace: "a", Name: fmt.Sprintf("n-%02d", i)}
		if c.done[k] != value {
			c.t.Errorf("%s was worked on at %q last, want %q", k, c.done[k], value)
		}
		each[c.by[k]]++
	}
	for _, m := range mates {
		held := 0
		if m.informer != nil {
			held = m.informer.Store().Len()
		}
		if fair := crewKeys / len(mates); held != each[m.name] || held < fair/3 || held > 3*fair {
			c.t.Errorf("of %d replicas %s holds %d of %d objects, and has worked on %d", len(mates), m.name, held, crewKeys, each[m.name])
		}
	}
}

// kill ends a replica that can send nothing more: it gives up no slot.
func (m *mate) kill() {
	m.srv.On(apitest.Match{UserAgent: m.name}, faults.Reset())
	m.leave()
}

// TestReplicasOnARing: three replicas hold and reconcile a third each; one is killed, one is
// added, and one is cut off for so long that it loses its share, and comes back.
func TestReplicasOnARing(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replicasOnARing(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func replicasOnARing(t *testing.T, dice *rand.Rand) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, ShardedListAndWatch: dice.IntN(2) == 0, Seed: dice.Uint64()})
	c := &crew{t: t, srv: srv, at: map[kube.Key]string{}, done: map[kube.Key]string{}, by: map[kube.Key]string{}}
	for i := range crewKeys {
		c.put(i, "first")
	}
	busy := func(d time.Duration) { // changes come all the time
		for end := time.Now().Add(d); time.Now().Before(end); pass(time.Duration(dice.IntN(1000)) * time.Millisecond) {
			c.put(dice.IntN(crewKeys), fmt.Sprint(dice.Uint64()))
		}
	}
	a, b, last := c.join("replica-a"), c.join("replica-b"), c.join("replica-c")
	c.settled("three", a, b, last)

	busy(time.Duration(dice.IntN(20)) * time.Second)
	b.kill()
	busy(time.Duration(dice.IntN(60)) * time.Second)
	c.settled("two", a, last)

	busy(time.Duration(dice.IntN(20)) * time.Second)
	added := c.join("replica-d")
	busy(time.Duration(dice.IntN(60)) * time.Second)
	c.settled("added", a, last, added)

	cut := srv.On(apitest.Match{UserAgent: a.name, Resource: "leases.coordination.k8s.io"}, faults.Hang())
	busy(30*time.Second + time.Duration(dice.IntN(60))*time.Second)
	c.settled("cut off", last, added)
	cut.Remove()
	busy(time.Duration(dice.IntN(60)) * time.Second)
	c.settled("back", a, last, added)

	last.leave()
	added.leave()
	c.settled("one", a)
}
