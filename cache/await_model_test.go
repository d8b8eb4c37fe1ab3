package cache_test

import (
	"context"
	"errors"
	"flag"
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
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

var awaitSeeds = flag.Int("await.seeds", 5, "seeds of TestAwaitModel")

// version is a state that an object had on the server.
type version struct {
	rev    kube.Revision
	uid    string
	label  string
	marked bool
	gone   bool
}

// awaiter is an informer of the model, and what it selects.
type awaiter struct {
	name    string
	i       *informer
	selects func(k kube.Key, v version) bool
	awaited map[kube.Key]chan struct{} // closed when the last await of a key has returned
}

// observed is what an informer stored when Await returned for a write.
type observed struct {
	of      *awaiter
	key     kube.Key
	at      int // the index of the write in the history of the key
	deleted bool
	stored  kube.Partial
	known   bool
}

// TestAwaitModel: writes of all kinds with awaits of several informers, among
// disconnections, relists, lost histories and slow handlers. What an informer stores
// when Await returns is the state that was written or a later one.
func TestAwaitModel(t *testing.T) {
	for seed := range uint64(*awaitSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := &awaitModel{world: w, rnd: rand.New(rand.NewPCG(seed, 3)), history: map[kube.Key][]version{}}
				m.maps = client.Of[draft](w.client, kube.ConfigMaps)
				m.start()
				defer m.waits.Wait()
				for range 60 {
					m.step()
				}
				m.restore()
				for range 60 {
					m.step()
				}
				m.waits.Wait()
				m.check()
			})
		})
	}
}

type awaitModel struct {
	*world
	rnd     *rand.Rand
	maps    client.Collection[draft]
	all     []*awaiter
	history map[kube.Key][]version // of all lives
	last    map[kube.Key]draft

	waits sync.WaitGroup
	mu    sync.Mutex
	seen  []observed
}

// start starts the informers, each with a handler that is slow at times.
func (m *awaitModel) start() {
	any := func(kube.Key, version) bool { return true }
	web := func(_ kube.Key, v version) bool { return v.label == "web" }
	fields, err := kube.ParseFieldSelector("metadata.name=o1")
	if err != nil {
		m.t.Fatal(err)
	}
	maps := m.world.maps
	labelled := maps.Where(kube.LabelsSelector(map[string]string{"v": "web"}), kube.FieldSelector{})
	m.all = []*awaiter{
		{"all", cache.New(maps, options{}), any, nil},
		{"pages", cache.New(maps, options{Watch: watch.Options{Initial: watch.Paged, Limit: 2}}), any, nil},
		{"a", cache.New(maps.In("a"), options{}), func(k kube.Key, _ version) bool { return k.Namespace == "a" }, nil},
		{"a, b", cache.New(maps, options{Namespaces: []string{"a", "b"}}), func(k kube.Key, _ version) bool { return k.Namespace != "c" }, nil},
		{"web", cache.New(labelled, options{}), web, nil},
		{"web in c, a", cache.New(labelled, options{Namespaces: []string{"c", "a"}}), func(k kube.Key, v version) bool { return k.Namespace != "b" && v.label == "web" }, nil},
		{"o1", cache.New(maps.Where(kube.Selector{}, fields), options{}), func(k kube.Key, _ version) bool { return k.Name == "o1" }, nil},
	}
	m.last = map[kube.Key]draft{}
	for _, a := range m.all {
		a.awaited = map[kube.Key]chan struct{}{}
		pauses := rand.New(rand.NewPCG(m.rnd.Uint64(), 1))
		a.i.Handle(func(delta) {
			if pauses.IntN(4) == 0 {
				<-time.After(time.Duration(pauses.IntN(3000)) * time.Millisecond)
			}
		})
		m.run(a.i.Run)
	}
}

// step writes, or disturbs the informers.
func (m *awaitModel) step() {
	switch m.rnd.IntN(12) {
	case 0:
		m.srv.CloseWatches()
	case 1:
		m.srv.Cut()
		synctest.Wait() // the client notices before it writes again
	case 2:
		m.srv.Expire() // and so the next watch lists
		m.srv.CloseWatches()
	case 3:
		m.srv.On(apitest.Match{Verb: "watch"}, faults.HTML(503)).Times(1 + m.rnd.IntN(8))
	case 4:
		m.pass(time.Duration(m.rnd.IntN(5000)) * time.Millisecond)
	default:
		m.write()
	}
}

// write makes one write, and waits for it in all informers, in the background.
func (m *awaitModel) write() {
	k := kube.Key{Namespace: string("abc"[m.rnd.IntN(3)]), Name: fmt.Sprint("o", m.rnd.IntN(3))}
	label := []string{"web", "db"}[m.rnd.IntN(2)]
	o, exists := m.last[k]
	var err error
	ctx := m.t.Context()
	switch {
	case !exists:
		o = draft{Meta: kube.Meta{Namespace: k.Namespace, Name: k.Name, Labels: map[string]string{"v": label}}}
		if m.rnd.IntN(2) == 0 {
			o.Finalizers = []string{"example.com/f"}
		}
		o, err = m.maps.Create(ctx, o)
	case o.DeletionTimestamp != nil:
		o, err = m.maps.Edit(ctx, k, func(o *draft) error { o.Finalizers = nil; return nil })
	case m.rnd.IntN(3) == 0:
		m.delete(k, o)
		return
	default:
		o, err = m.maps.Edit(ctx, k, func(o *draft) error {
			o.Labels = map[string]string{"v": label, "n": fmt.Sprint(m.rnd.IntN(1000))}
			return nil
		})
	}
	if err != nil {
		m.t.Fatal(err)
	}
	v := version{rev: kube.Revision(o.ResourceVersion), uid: o.UID, label: o.Labels["v"], marked: o.DeletionTimestamp != nil}
	v.gone = v.marked && len(o.Finalizers) == 0
	m.note(k, v, o)
	m.await(k, v.gone, func(ctx context.Context, i *informer) error { return i.Await(ctx, o) })
}

func (m *awaitModel) delete(k kube.Key, o draft) {
	if err := m.maps.Delete(m.t.Context(), k, client.DeleteOptions{UID: o.UID}); err != nil {
		m.t.Fatal(err)
	}
	now, err := m.maps.Get(m.t.Context(), k)
	v := version{rev: m.srv.Revision(), uid: o.UID, gone: err != nil}
	if err == nil {
		v = version{rev: kube.Revision(now.ResourceVersion), uid: now.UID, label: now.Labels["v"], marked: true}
	}
	m.note(k, v, now)
	m.await(k, true, func(ctx context.Context, i *informer) error { return i.AwaitDeleted(ctx, o) })
}

// note notes the state after a write.
func (m *awaitModel) note(k kube.Key, v version, o draft) {
	m.history[k] = append(m.history[k], v)
	if m.last[k] = o; v.gone {
		delete(m.last, k)
	}
}

// await waits for the last write of k in all informers, and notes what they store.
func (m *awaitModel) await(k kube.Key, deleted bool, wait func(context.Context, *informer) error) {
	at := len(m.history[k]) - 1
	for _, a := range m.all {
		before, done := a.awaited[k], make(chan struct{})
		a.awaited[k] = done
		m.waits.Go(func() {
			defer close(done)
			if before != nil {
				<-before // as a controller does
			}
			ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
			defer cancel()
			err := wait(ctx, a.i)
			o, known := a.i.Store().Get(k)
			if vanished := errors.Is(err, cache.ErrVanished); err != nil && !vanished || vanished && deleted {
				m.t.Errorf("%s: %v", a.name, err)
				return
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.seen = append(m.seen, observed{a, k, at, deleted, o, known})
		})
	}
}

// restore takes the server back to an earlier state. It is quiet until all informers
// have noticed, which none can once the server has passed where it was.
func (m *awaitModel) restore() {
	m.waits.Wait()
	at := m.srv.Revision()
	for range 5 {
		m.write()
	}
	m.waits.Wait()
	m.srv.RestoreTo(at)
	<-time.After(20 * time.Minute)
	for k, was := range m.history {
		o, err := m.maps.Get(m.t.Context(), k)
		v := version{rev: kube.Revision(o.ResourceVersion), uid: o.UID, label: o.Labels["v"], marked: o.DeletionTimestamp != nil, gone: err != nil}
		if v.gone {
			v = version{rev: m.srv.Revision(), uid: was[len(was)-1].uid, gone: true}
		}
		m.note(k, v, o)
	}
}

// check compares what was observed with the history.
func (m *awaitModel) check() {
	for _, s := range m.seen {
		versions := m.history[s.key][s.at:]
		ok := false
		for _, v := range versions {
			there := !v.gone && s.of.selects(s.key, v)
			ok = ok || there == s.known && (!there || s.stored.ResourceVersion == string(v.rev) && s.stored.UID == v.uid)
		}
		if !ok {
			m.t.Errorf("%s: %s after %+v: stored is %v at revision %q", s.of.name, s.key, versions[0], s.known, s.stored.ResourceVersion)
		}
	}
	if len(m.seen) < 200 {
		m.t.Errorf("only %d awaits", len(m.seen))
	}
}
