package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/cache/internal/health"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// Group shares informers: calls of [Shared] for the same objects in the same form return the same
// informer. An informer runs while it has holders: each call of Shared adds one, and its Release
// removes it. A Group is safe for concurrent use. The zero Group is ready to use; it must not be
// copied.
//
//	var group cache.Group
//	go group.Run(ctx)
//	pods := cache.Shared(&group, client.Of[Pod](c, kube.Pods), cache.Options[Pod]{})
//	defer pods.Release()
type Group struct {
	// Budget, if set before the first use, limits the total memory of the group's informers whose
	// Options have none. An informer that would exceed it ends, and its WaitSynced, Ready and
	// Status report that; the others continue. The ended informer stays in the group until its last
	// holder is released.
	Budget *Budget

	// Logger, if set before Run, is used by the informers whose Options have none.
	Logger *slog.Logger

	mu      sync.Mutex
	mutated func(Mutation)     // see DetectMutations
	members []*member          // the members with holders
	pending []*member          // to be started
	latest  map[string]*member // by the path of a snapshot: the latest member, until it has ended
	wake    chan struct{}
	running bool
	ended   error // why Run returned
	first   error // the error of the first informer that ended by itself
}

// member is a shared informer.
type member struct {
	informer interface { // *Informer[T]
		Run(context.Context) error
		WaitSynced(context.Context) error
		Status() Status
		SetLogger(*slog.Logger)
		DetectMutations(func(Mutation))
		abandon(error)
	}
	spec     any           // spec[T]
	holders  int           // guarded by Group.mu
	released chan struct{} // closed when it has no holder any more
	path     string        // of its snapshot
	ended    chan struct{} // closed when its Run has returned
	before   *member       // a member without holders that uses the same snapshot and must end first; nil = none
}

// spec is the arguments of an informer.
type spec[T kube.Object] struct {
	collection client.Collection[T]
	options    Options[T]
}

// equal reports whether one informer can serve both. It compares everything that is not
// excluded here, so that a new option cannot be forgotten; functions are never equal.
func (s spec[T]) equal(o spec[T]) bool {
	return s.collection.Client == o.collection.Client && s.options.Budget == o.options.Budget &&
		(s.options.Transform == nil) == (o.options.Transform == nil) &&
		reflect.DeepEqual(s.rest(), o.rest())
}

// rest returns s without the fields that equal compares itself, and without those that
// do not affect the objects of the informer.
func (s spec[T]) rest() spec[T] {
	s.collection.Client, s.options.Budget = nil, nil
	s.collection.Write, s.options.Logger = client.WriteOptions{}, nil
	s.collection.Written, s.collection.Deleted = nil, nil
	if s.options.Snapshot.Projection != "" {
		s.options.Transform = nil
	}
	return s
}

// SharedInformer is a holder of an informer of a group.
type SharedInformer[T kube.Object] struct {
	*Informer[T]
	once    sync.Once
	release func()
}

// Release removes the holder; without holders the informer ends. Handlers that were added through
// this holder are not removed: use Handler.Remove. It may be called more than once.
func (s *SharedInformer[T]) Release() { s.once.Do(s.release) }

// Shared returns the group's informer of the objects of c with the options o, decoded as T. The
// group runs it, from the first call on, so the caller must not call its Run. Handlers may be added
// at any time. When the group has ended, the informer has ended too, and its WaitSynced and Ready
// report that. After the last holder of an informer was released, Shared returns a new one. An
// informer with a Snapshot begins when the previous informers with its path have ended.
//
// Two calls share an informer if their c and o are equal, except for o.Logger and c's fields Write,
// Written and Deleted. Functions cannot be compared: an informer with OnError or with a Trace of
// its watch is not shared. An informer with a Transform is shared only if Snapshot.Projection names
// the transformation, with or without a snapshot path: equal names must mean equal functions.
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

// follow makes m wait for the latest member with the same snapshot path, if that has no
// holder any more. The caller holds mu.
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

// over removes m, whose Run has returned.
func (g *Group) over(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.latest[m.path] == m {
		delete(g.latest, m.path)
	}
	close(m.ended)
}

// start passes m to Run. The caller holds mu.
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

// wakeup returns the channel, of size 1, that signals an addition to pending. The
// caller holds mu.
func (g *Group) wakeup() chan struct{} {
	if g.wake == nil {
		g.wake = make(chan struct{}, 1)
	}
	return g.wake
}

// Run runs the group's informers until ctx is done, and returns its cause after all of
// them have ended. It can be called once.
//
// An informer that ends by itself, because the server rejects its request as invalid or
// its budget is used up, does not end the others. The error is logged, WaitSynced, Ready and
// Status of the informer and of the group report it, and Run joins the first such error to the one
// that it returns.
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

// watch runs the informer while it has holders.
func (g *Group) watch(ctx context.Context, m *member) {
	defer g.over(m)
	if m.before != nil {
		<-m.before.ended // Run starts it before m
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
	log, mutated := g.forMembers()
	m.informer.SetLogger(log)
	m.informer.DetectMutations(mutated)
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

// SetLogger sets the logger of a group without one; see [Informer.SetLogger].
func (g *Group) SetLogger(l *slog.Logger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Logger == nil {
		g.Logger = l
	}
}

// DetectMutations makes the informers that start from now on report mutations; see
// [Informer.DetectMutations]. report may be called concurrently.
func (g *Group) DetectMutations(report func(Mutation)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mutated = report
}

func (g *Group) forMembers() (*slog.Logger, func(Mutation)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Logger, g.mutated
}

// Len returns the number of informers with holders.
func (g *Group) Len() int { return len(g.held()) }

func (g *Group) held() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.members)
}

// Status returns the states of the informers with holders, in the order of their first use.
func (g *Group) Status() []Status {
	var all []Status
	for _, m := range g.held() {
		all = append(all, m.informer.Status())
	}
	return all
}

// Ready returns nil if Run was called and has not returned, and every informer with a holder is
// ready. Its error names those that are not. It is for readiness probes.
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
	var errs health.Joined
	for _, s := range g.Status() {
		if err := s.Ready(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errs.Err()
}

// WaitSynced waits until every informer that has a holder now is synced, as
// [Informer.WaitSynced] does, and returns the first error.
func (g *Group) WaitSynced(ctx context.Context) error {
	for _, m := range g.held() {
		if err := m.informer.WaitSynced(ctx); err != nil {
			return err
		}
	}
	return nil
}
