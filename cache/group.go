package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Group shares informers: whoever asks for the same objects in the same form gets
// the same one, which watches from the first to the last that holds it. It is
// safe for concurrent use. The zero Group is ready; it must not be copied.
//
//	var group cache.Group
//	go group.Run(ctx)
//	pods := cache.Shared(&group, client.Of[Pod](c, kube.Pods), cache.Options[Pod]{})
//	defer pods.Release()
type Group struct {
	// Budget, if set before the first use, limits the memory of those of the
	// group's informers together whose Options have none. One that would go beyond
	// it ends, and its WaitSynced, Ready and Status say so; the others go on. It
	// stays in the group, ended, until its last holder releases it.
	Budget *Budget

	// Logger, if set before Run, is that of the informers whose Options have none.
	Logger *slog.Logger

	mu      sync.Mutex
	members []*member          // that are held
	pending []*member          // to be started
	latest  map[string]*member // by the path of a snapshot: who was made last, until it has ended
	wake    chan struct{}
	running bool
	ended   error // why Run returned
	first   error // why the first informer ended that ended by itself
}

// member is a shared informer.
type member struct {
	informer interface { // *Informer[T]
		Run(context.Context) error
		WaitSynced(context.Context) error
		Status() Status
		SetLogger(*slog.Logger)
		abandon(error)
	}
	spec     any           // spec[T]
	holders  int           // guarded by Group.mu
	released chan struct{} // closed when nobody holds it
	path     string        // of its snapshot
	ended    chan struct{} // closed when it has run
	before   *member       // nobody holds it, and it ends, or will, with the same snapshot; nil = none
}

// spec is what an informer is made of.
type spec[T kube.Object] struct {
	collection client.Collection[T]
	options    Options[T]
}

// equal reports whether one informer can serve both. All that is not left out here
// counts, so that a new option cannot be forgotten; a function equals nothing.
func (s spec[T]) equal(o spec[T]) bool {
	return s.collection.Client == o.collection.Client && s.options.Budget == o.options.Budget &&
		(s.options.Transform == nil) == (o.options.Transform == nil) &&
		reflect.DeepEqual(s.rest(), o.rest())
}

// rest returns s without what equal compares itself, and without what does not
// change what the informer holds.
func (s spec[T]) rest() spec[T] {
	s.collection.Client, s.options.Budget = nil, nil
	s.collection.Write, s.options.Logger = client.WriteOptions{}, nil
	if s.options.Snapshot.Projection != "" {
		s.options.Transform = nil
	}
	return s
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

// Shared returns the group's informer of the objects of c with the options o,
// decoded as T. It runs when the group does, and then from the first call on, so
// Run is not for the caller. Handlers may be added at any time. When the group has
// ended, so has the informer, and its WaitSynced and Ready say so. Whoever asks after
// the last holder let go gets a new informer; one with a Snapshot begins when those
// before it at the same path have ended.
//
// An informer is shared where c, but for Write, and o, but for Logger, are equal.
// Functions cannot be compared: an informer with OnError or a Trace of its watch is
// not shared, and one with a Transform only if Snapshot.Projection names it, with or
// without a path of a snapshot: then equal names stand for equal functions.
func Shared[T kube.Object](g *Group, c client.Collection[T], o Options[T]) *SharedInformer[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.Budget == nil {
		o.Budget = g.Budget
	}
	wanted := spec[T]{c, o}
	var m *member
	for _, other := range g.members {
		if s, ok := other.spec.(spec[T]); ok && s.equal(wanted) {
			m = other
		}
	}
	if m == nil {
		m = &member{informer: New(c, o), spec: wanted, path: o.Snapshot.Path, released: make(chan struct{}), ended: make(chan struct{})}
		g.members = append(g.members, m)
		g.follow(m)
		g.start(m)
	}
	m.holders++
	return &SharedInformer[T]{Informer: m.informer.(*Informer[T]), release: func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if m.holders--; m.holders == 0 {
			close(m.released)
			g.members = slices.DeleteFunc(g.members, func(o *member) bool { return o == m })
		}
	}}
}

// follow lets m begin when the last one that nobody holds any more, and whose snapshot
// is at the same path, has ended. The caller holds mu.
func (g *Group) follow(m *member) {
	if m.path == "" {
		return
	}
	if last := g.latest[m.path]; last != nil && last.holders == 0 {
		m.before = last
	}
	if g.latest == nil {
		g.latest = map[string]*member{}
	}
	g.latest[m.path] = m
}

// over lets go of m, which has run.
func (g *Group) over(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.latest[m.path] == m {
		delete(g.latest, m.path)
	}
	close(m.ended)
}

// start hands m to Run. The caller holds mu.
func (g *Group) start(m *member) {
	if g.ended != nil {
		m.informer.abandon(g.ended)
		return
	}
	g.pending = append(g.pending, m)
	select {
	case g.wakeup() <- struct{}{}:
	default:
	}
}

// wakeup returns the channel, of size 1, that says that pending has grown. The
// caller holds mu.
func (g *Group) wakeup() chan struct{} {
	if g.wake == nil {
		g.wake = make(chan struct{}, 1)
	}
	return g.wake
}

// Run runs the group's informers until ctx is done, and returns its cause once
// all of them have ended. It can be called once.
//
// An informer that ends by itself, because the server calls its request invalid or
// its budget is used up, does not end the others: its WaitSynced, Ready and Status
// say so, those of the group too, it is logged, and Run joins the error of the first
// one to what it returns.
func (g *Group) Run(ctx context.Context) error {
	g.mu.Lock()
	if g.running {
		g.mu.Unlock()
		return ErrRunning
	}
	g.running = true
	wake := g.wakeup()
	g.mu.Unlock()
	var running sync.WaitGroup
	for ctx.Err() == nil {
		g.mu.Lock()
		pending := g.pending
		g.pending = nil
		g.mu.Unlock()
		for _, m := range pending {
			running.Go(func() { g.watch(ctx, m) })
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
	running.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = fmt.Errorf("the group ended: %w", context.Cause(ctx))
	for _, m := range g.pending {
		m.informer.abandon(g.ended)
	}
	g.pending = nil
	if g.first == nil {
		return context.Cause(ctx)
	}
	return errors.Join(context.Cause(ctx), g.first)
}

// watch runs the informer while somebody holds it.
func (g *Group) watch(ctx context.Context, m *member) {
	defer g.over(m)
	if m.before != nil {
		<-m.before.ended // it was to be started before m
		m.before = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var guard sync.WaitGroup
	guard.Go(func() {
		select {
		case <-m.released:
		case <-ctx.Done():
		}
		cancel()
	})
	m.informer.SetLogger(g.logger())
	err := m.informer.Run(ctx)
	if ctx.Err() == nil {
		g.mu.Lock()
		if g.first == nil {
			g.first = fmt.Errorf("informer of %s: %w", m.informer.Status().Name, err)
		}
		g.mu.Unlock()
	}
	cancel()
	guard.Wait()
}

// SetLogger sets the logger of a group that has none, as [Informer.SetLogger] does.
func (g *Group) SetLogger(l *slog.Logger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Logger == nil {
		g.Logger = l
	}
}

func (g *Group) logger() *slog.Logger {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Logger
}

// Len returns the number of informers that are held.
func (g *Group) Len() int { return len(g.held()) }

func (g *Group) held() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.members)
}

// Status returns the states of the informers that are held, in the order in which
// they were first asked for.
func (g *Group) Status() []Status {
	var all []Status
	for _, m := range g.held() {
		all = append(all, m.informer.Status())
	}
	return all
}

// Ready returns nil if Run was called and has not returned, and every informer that
// is held is ready: for a readiness probe. Its error names those that are not.
func (g *Group) Ready() error {
	g.mu.Lock()
	running, ended := g.running, g.ended
	g.mu.Unlock()
	switch {
	case ended != nil:
		return ended
	case !running:
		return ErrNotRunning
	}
	var errs joined
	for _, s := range g.Status() {
		if err := s.Ready(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errs.err()
}

// WaitSynced waits until every informer that is held now is synced, as
// [Informer.WaitSynced] does, and returns the first error.
func (g *Group) WaitSynced(ctx context.Context) error {
	for _, m := range g.held() {
		if err := m.informer.WaitSynced(ctx); err != nil {
			return err
		}
	}
	return nil
}
