package cache

import (
	"context"
	"sync"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Group shares informers: whoever asks for the same objects in the same form gets
// the same one, which watches from the first to the last that holds it. It is
// safe for concurrent use. The zero Group is ready; it must not be copied.
//
//	var group cache.Group
//	go group.Run(ctx)
//	pods := cache.Shared(&group, client.Of[Pod](c, kube.Pods), cache.Selection{})
//	defer pods.Release()
type Group struct {
	// Budget, if set before the first use, limits the memory of all the group's
	// informers together. One that would go beyond it ends, and says so in its
	// WaitSynced; the others go on. It stays in the group, ended, until its
	// last holder releases it.
	Budget *Budget

	mu      sync.Mutex
	shared  map[groupKey]*member
	pending []*member     // to be started
	wake    chan struct{} // of size 1: pending has grown
}

// groupKey is what makes two informers the same.
type groupKey struct {
	form                      any // a nil pointer to T: its type is what counts
	client                    *client.Client
	accept                    client.Accept
	resource                  kube.Resource
	namespace, labels, fields string
}

// member is a shared informer.
type member struct {
	informer any // *Informer[T]
	run      func(context.Context) error
	holders  int           // guarded by Group.mu
	released chan struct{} // closed when nobody holds it
}

// Selection says which objects of a collection are shared.
type Selection struct {
	Labels kube.Selector
	Fields kube.FieldSelector
}

// SharedInformer is a hold of an informer in a group.
type SharedInformer[T kube.Object] struct {
	*Informer[T]
	once    sync.Once
	release func()
}

// Release lets go of the informer; with the last hold it ends. The handlers that
// were added through this hold are not removed: that is Handler.Remove. It may be
// called more than once.
func (s *SharedInformer[T]) Release() { s.once.Do(s.release) }

// Shared returns the group's informer of the objects of c that sel selects,
// decoded as T. It runs when the group does, and then from the first call on, so
// Run is not for the caller. Handlers may be added at any time.
func Shared[T kube.Object](g *Group, c client.Collection[T], sel Selection) *SharedInformer[T] {
	key := groupKey{(*T)(nil), c.Client, c.Accept, c.Resource, c.Namespace, sel.Labels.String(), sel.Fields.String()}
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.shared[key]
	if m == nil {
		i := New(c, Options[T]{Budget: g.Budget, Watch: watch.Options{Labels: sel.Labels, Fields: sel.Fields}})
		m = &member{informer: i, run: i.Run, released: make(chan struct{})}
		if g.shared == nil {
			g.shared = map[groupKey]*member{}
		}
		g.shared[key] = m
		g.start(m)
	}
	m.holders++
	return &SharedInformer[T]{Informer: m.informer.(*Informer[T]), release: func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if m.holders--; m.holders == 0 {
			close(m.released)
			delete(g.shared, key)
		}
	}}
}

// start hands m to Run. The caller holds mu.
func (g *Group) start(m *member) {
	g.pending = append(g.pending, m)
	select {
	case g.wakeup() <- struct{}{}:
	default:
	}
}

// wakeup returns the channel. The caller holds mu.
func (g *Group) wakeup() chan struct{} {
	if g.wake == nil {
		g.wake = make(chan struct{}, 1)
	}
	return g.wake
}

// Run runs the group's informers until ctx is done, and returns its cause once
// all of them have ended. An informer that ends by itself, because the server
// calls its request invalid, says so in its WaitSynced; the others go on.
func (g *Group) Run(ctx context.Context) error {
	g.mu.Lock()
	wake := g.wakeup()
	g.mu.Unlock()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		g.mu.Lock()
		pending := g.pending
		g.pending = nil
		g.mu.Unlock()
		for _, m := range pending {
			running.Go(func() { m.watch(ctx) })
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watch runs the informer while somebody holds it.
func (m *member) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var guard sync.WaitGroup
	guard.Go(func() {
		select {
		case <-m.released:
		case <-ctx.Done():
		}
		cancel()
	})
	m.run(ctx)
	cancel()
	guard.Wait()
}

// Len returns the number of informers that are held.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.shared)
}
