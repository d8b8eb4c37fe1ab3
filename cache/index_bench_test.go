package cache_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

const crowd = 100_000

// pod is what a controller may keep of a Pod.
type pod struct {
	kube.Meta `json:"metadata"`
	Node      string
}

// podEvent is the rv-th state of the i-th pod of 100 namespaces and 5000 nodes.
func podEvent(i, rv int) watch.Event[*pod] {
	p := &pod{Meta: kube.Meta{
		Namespace: "n" + strconv.Itoa(i%100), Name: "pod-" + strconv.Itoa(i), UID: strconv.Itoa(i), ResourceVersion: strconv.Itoa(rv),
		Labels: map[string]string{"app": "app-" + strconv.Itoa(i%300)},
	}, Node: "node-" + strconv.Itoa(i%5000)}
	return watch.Event[*pod]{Type: watch.Modified, Key: kube.KeyOf(p), UID: p.UID, Revision: kube.Revision(p.ResourceVersion), Object: p}
}

func podStore() *cache.RWStore[*pod] {
	s := cache.NewStore[*pod]()
	for i := range crowd {
		s.Apply(podEvent(i, i+1))
	}
	return s
}

// rawStore holds pods of 4 KB.
func rawStore(b *testing.B) *cache.RWStore[codec.Raw] {
	s := cache.NewStore[codec.Raw]()
	spec := strings.Repeat("x", 4000)
	for i := range crowd {
		o, err := codec.ParseRaw(fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod-%d","generateName":"pod-","namespace":"n%d","uid":"%d","resourceVersion":"%d","creationTimestamp":"2026-03-01T10:00:00Z","labels":{"app":"app-%d","team":"checkout","pod-template-hash":"7d9c6f5b8d"}},"spec":{"x":%q}}`, i, i%100, i, i+1, i%300, spec))
		if err != nil {
			b.Fatal(err)
		}
		s.Apply(watch.Event[codec.Raw]{Type: watch.Added, Key: kube.KeyOf(o), UID: o.GetUID(), Revision: kube.Revision(o.GetResourceVersion()), Object: o})
	}
	return s
}

// BenchmarkStoreApply applies updates of objects all over the store that leave
// the indexed values as they are, and some that do not.
func BenchmarkStoreApply(b *testing.B) {
	node := func(p *pod) (string, bool) { return p.Node, true }
	for _, bench := range []struct {
		name  string
		index func(*cache.RWStore[*pod])
		moves bool
	}{
		{"indexes=0", func(s *cache.RWStore[*pod]) {}, false},
		{"indexes=2", func(s *cache.RWStore[*pod]) { cache.ByNamespace(s.Store); cache.By(s.Store, node) }, false},
		{"indexes=2/NewIndex", func(s *cache.RWStore[*pod]) {
			cache.NewIndex(s.Store, func(p *pod) []string { return []string{p.Namespace} })
			cache.NewIndex(s.Store, func(p *pod) []string { return []string{p.Node} })
		}, false},
		{"indexes=2/moves", func(s *cache.RWStore[*pod]) { cache.ByNamespace(s.Store); cache.By(s.Store, node) }, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := podStore()
			bench.index(s)
			events := make([]watch.Event[*pod], 1<<16)
			for i := range events {
				events[i] = podEvent(i*7919%crowd, 0)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ev := events[i%len(events)]
				ev.Revision = "odd" // no numbers: newer whenever they differ
				if i/len(events)%2 == 0 {
					ev.Revision = "even"
				}
				if bench.moves {
					moved := *ev.Object
					moved.Node = "elsewhere"[:1+i/len(events)%8]
					ev.Object = &moved
				}
				s.Apply(ev)
			}
		})
	}
}

// BenchmarkStoreGet reads with 8 goroutines while one writes without a pause.
func BenchmarkStoreGet(b *testing.B) {
	s := podStore()
	cache.ByNamespace(s.Store)
	cache.By(s.Store, func(p *pod) (string, bool) { return p.Node, true })
	keys := make([]kube.Key, 1<<12)
	events := make([]watch.Event[*pod], 1<<12)
	for i := range keys {
		keys[i] = podEvent(i*7919%crowd, 0).Key
		events[i] = podEvent(i*7907%crowd, 0)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !stop.Load(); i++ {
			ev := events[i%len(events)]
			ev.Revision = kube.Revision(strconv.Itoa(crowd + i))
			s.Apply(ev)
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	b.SetParallelism(4) // times GOMAXPROCS: 8 on 2 cores
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			s.Get(keys[i%len(keys)])
		}
	})
	stop.Store(true)
	wg.Wait()
}

// BenchmarkRead reads a namespace of 1,000 objects among 100,000, and the 333
// objects of a label.
func BenchmarkRead(b *testing.B) {
	s := rawStore(b)
	sel := kube.LabelsSelector(map[string]string{"app": "app-7"})
	list := func(namespace string, match func(codec.Raw) bool) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.List(namespace, match)
			}
		}
	}
	b.Run("List/namespace", list("n7", nil))
	b.Run("List/labels", list("", cache.MatchLabels[codec.Raw](sel)))
	b.Run("List/namespace,labels", list("n7", cache.MatchLabels[codec.Raw](sel)))
	namespaces, apps := cache.ByNamespace(s.Store), cache.ByLabel(s.Store, "app")
	b.Run("List/namespace,indexed", list("n7", nil))
	b.Run("List/namespace,labels,indexed", list("n7", cache.MatchLabels[codec.Raw](sel)))
	b.Run("Index.Get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range apps.Get("app-7") {
			}
		}
	})
	b.Run("Index.Keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			apps.Keys("app-7")
		}
	})
	b.Run("Index.Len", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			namespaces.Len("n7")
		}
	})
	b.Run("NewIndex", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cache.ByLabel(s.Store, "app").Close()
		}
	})
}
