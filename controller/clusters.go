package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// ClusterKey names an object of one of several clusters.
type ClusterKey struct {
	Cluster string // its name in Clusters
	kube.Key
}

// String returns "cluster:namespace/name".
func (k ClusterKey) String() string { return k.Cluster + ":" + k.Key.String() }

// Cluster is the argument of the function that makes the caches of a cluster: see [NewClusters].
type Cluster struct {
	Name   string
	Client *client.Client
	Group  *cache.Group // runs the informers of the cluster: see cache.Shared
}

// Clusters is a set of clusters for one or more controllers. Engage adds a cluster and Remove
// removes it, at any time. Each cluster has its own caches, which Run runs; a V holds the caches of
// one cluster. A controller gets the objects of a cluster when all caches of the cluster are filled
// and up to date. A cluster that cannot be reached does not delay the others, and is not ready: see
// Status. The program must remove metrics that the function of NewClusters registers: see package
// metrics.
//
// The Func of a controller calls Get with the cluster of its key. It may still run for queued keys
// of a cluster after Remove: Get then returns false. All methods are safe for concurrent use.
type Clusters[V any] struct {
	open func(*Cluster) (V, error)

	mu      sync.Mutex
	log     *slog.Logger // nil = none
	mutated func(cache.Mutation)
	wires   []wireCluster[V] // fixed when it runs
	running bool
	ended   bool
	members map[string]*engaged[V]
	leaving map[string]*engaged[V] // clusters whose removal has begun, the last of each name
	pending []*engaged[V]          // clusters that Run has not started yet
	wake    chan struct{}          // of size 1: pending was added to
}

// wireCluster adds an input to a controller from the caches of a cluster.
type wireCluster[V any] struct {
	controller interface{ addLate(...*input) *Source }
	input      func(cluster string, v V) *input
}

// engaged is a cluster.
type engaged[V any] struct {
	Cluster
	removed chan struct{} // closed by Remove
	done    chan struct{} // closed when all its goroutines have ended

	// Guarded by Clusters.mu.
	v      V
	filled bool
	err    error // why it cannot be used
}

// NewClusters returns an empty set. The function open is called once for each cluster that is
// engaged, by the goroutine that engages it, and makes its caches by [cache.Shared] with the Group
// of the Cluster. If it fails or panics, the cluster is not engaged.
func NewClusters[V any](open func(*Cluster) (V, error)) *Clusters[V] {
	if open == nil {
		panic("controller: the function of NewClusters is nil")
	}
	return &Clusters[V]{open: open, members: make(map[string]*engaged[V]), leaving: make(map[string]*engaged[V]), wake: make(chan struct{}, 1)}
}

// ForClusters is [For] in each cluster: pick returns the input from the V of a cluster, which is
// what the function open of [NewClusters] returned for it. Like OwnsClusters and MapClusters it
// must be called before clusters are engaged.
func ForClusters[V any, T kube.Object](c *Controller[ClusterKey], s *Clusters[V], pick func(V) Input[T], only ...func(cache.Delta[T]) bool) {
	wireClusters(c, s, pick, only, func(cluster string) func(cache.Delta[T], func(ClusterKey)) { return within(cluster, each[T]) })
}

// OwnsClusters is [Owns] in each cluster.
func OwnsClusters[V any, T cache.Owned[R], R any](c *Controller[ClusterKey], s *Clusters[V], owner kube.Resource, pick func(V) Input[T], only ...func(cache.Delta[T]) bool) {
	keys := owners[T, R](owner)
	wireClusters(c, s, pick, only, func(cluster string) func(cache.Delta[T], func(ClusterKey)) { return within(cluster, keys) })
}

// MapClusters is [Map] in each cluster: f gets the name of the cluster too. The keys may
// belong to any cluster, and have any type.
func MapClusters[V any, K comparable, T kube.Object](c *Controller[K], s *Clusters[V], pick func(V) Input[T], f func(cluster string, o T) []K, only ...func(cache.Delta[T]) bool) {
	if f == nil {
		panic("controller " + c.name + ": the function of MapClusters is nil")
	}
	wireClusters(c, s, pick, only, func(cluster string) func(cache.Delta[T], func(K)) {
		return mapped(func(o T) []K { return f(cluster, o) })
	})
}

// within adds the cluster to keys.
func within[T kube.Object](cluster string, keys func(cache.Delta[T], func(kube.Key))) func(cache.Delta[T], func(ClusterKey)) {
	return func(d cache.Delta[T], add func(ClusterKey)) {
		keys(d, func(k kube.Key) { add(ClusterKey{cluster, k}) })
	}
}

func wireClusters[V any, K comparable, T kube.Object](c *Controller[K], s *Clusters[V], pick func(V) Input[T], only []func(cache.Delta[T]) bool, keys func(cluster string) func(cache.Delta[T], func(K))) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members) > 0 || s.running {
		panic("controller " + c.name + ": wire it before clusters are engaged") // otherwise it would not get those
	}
	s.wires = append(s.wires, wireCluster[V]{c, func(cluster string, v V) *input {
		in := newInput(c, pick(v), only, keys(cluster))
		in.name = cluster + ": " + in.name
		return in
	}})
}

// ErrEngaged is the error of Engage if a cluster of this name is already engaged.
var ErrEngaged = errors.New("a cluster of this name is engaged")

// Engage adds a cluster. Its caches are filled when Run runs. They use c until Remove has returned
// nil, and a run of the Func may use c even longer. When Remove has returned nil and no such run is
// left, the caller closes the idle connections of c. After Run has ended Engage fails.
func (s *Clusters[V]) Engage(name string, c *client.Client) error {
	e := &engaged[V]{Cluster: Cluster{Name: name, Client: c, Group: &cache.Group{}}, removed: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	known, ended := s.members[name], s.ended
	if known == nil && !ended {
		s.members[name] = e // reserves the name
	}
	s.mu.Unlock()
	switch {
	case ended:
		return fmt.Errorf("engage cluster %s: the clusters have ended", name)
	case known != nil:
		return fmt.Errorf("engage cluster %s: %w", name, ErrEngaged)
	}
	return s.admit(e)
}

// admit calls open for a cluster whose name is reserved.
func (s *Clusters[V]) admit(e *engaged[V]) (err error) {
	var v V
	opened := errors.New("opening it panicked") // unless open returns
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if opened == nil && (s.members[e.Name] != e || s.ended) {
			opened = errors.New("it was removed meanwhile")
		}
		if opened != nil {
			if s.members[e.Name] == e {
				delete(s.members, e.Name)
			}
			s.end(e)
			err = fmt.Errorf("engage cluster %s: %w", e.Name, opened)
			return
		}
		e.v = v
		s.pending = append(s.pending, e)
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}()
	v, opened = s.open(&e.Cluster)
	return nil
}

// Remove removes a cluster: the controllers get no further keys of it, and its informers end. It
// returns when the informers have ended, or with the cause of ctx. A run of the Func that has begun
// may continue. If no cluster of this name is engaged, Remove does nothing.
func (s *Clusters[V]) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	e := s.members[name]
	if e != nil {
		delete(s.members, name)
		s.leaving[name] = e
		close(e.removed)
		if n := slices.Index(s.pending, e); n >= 0 {
			s.pending = slices.Delete(s.pending, n, n+1)
			s.end(e)
		}
	} else if e = s.leaving[name]; e == nil { // else another call removes it
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("remove cluster %s: %w", name, context.Cause(ctx))
	}
}

// end marks that all goroutines of e have ended. The caller holds mu.
func (s *Clusters[V]) end(e *engaged[V]) {
	close(e.done)
	if s.leaving[e.Name] == e {
		delete(s.leaving, e.Name)
	}
}

// Get returns what open returned for a cluster; false if its caches are not filled, or the
// cluster is not engaged any more.
func (s *Clusters[V]) Get(name string) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.members[name]; e != nil && e.filled {
		return e.v, true
	}
	return *new(V), false
}

// ClusterStatus is the state of an engaged cluster.
type ClusterStatus struct {
	Name string
	Err  error // why it is not ready, from [cache.Group.Ready]; nil = ready
}

// Status returns the states of the engaged clusters, sorted by name.
func (s *Clusters[V]) Status() []ClusterStatus {
	s.mu.Lock()
	var all []ClusterStatus
	groups := make(map[string]*cache.Group)
	for name, e := range s.members {
		all = append(all, ClusterStatus{name, e.err})
		groups[name] = e.Group
	}
	s.mu.Unlock()
	for n := range all {
		if all[n].Err == nil {
			all[n].Err = groups[all[n].Name].Ready()
		}
	}
	slices.SortFunc(all, func(a, b ClusterStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Ready returns nil while Run runs, whatever the state of the clusters: see Status.
func (s *Clusters[V]) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.running:
		return errors.New("has not begun")
	case s.ended:
		return errors.New("has ended")
	}
	return nil
}

// SetLogger sets the logger of the informers of all clusters. A Manager calls it.
func (s *Clusters[V]) SetLogger(l *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = l
}

// DetectMutations is [cache.Group.DetectMutations] of each cluster that is engaged later.
// The informers' names begin with those of their clusters.
func (s *Clusters[V]) DetectMutations(report func(cache.Mutation)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mutated = report
}

// Run runs the caches of the clusters until ctx ends. It can be called once. A Manager runs
// it in all replicas, and the controller in the leader.
func (s *Clusters[V]) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return errors.New("clusters: Run was called before")
	}
	s.running = true
	s.mu.Unlock()
	var all sync.WaitGroup
	for ctx.Err() == nil {
		s.mu.Lock()
		added := s.pending
		s.pending = nil
		s.mu.Unlock()
		for _, e := range added {
			all.Go(func() { s.follow(ctx, e) })
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, e := range s.pending {
		s.end(e)
	}
	s.pending = nil
	return context.Cause(ctx)
}

// follow runs the caches of a cluster, and connects the controllers with them while they
// are filled.
func (s *Clusters[V]) follow(ctx context.Context, e *engaged[V]) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(e)
	}()
	ctx, stop := wait.Until(ctx, e.removed, errRemoved)
	s.mu.Lock()
	log, mutated := s.log, s.mutated
	s.mu.Unlock()
	if log != nil {
		e.Group.SetLogger(log.With("cluster", e.Name))
	}
	if mutated != nil {
		e.Group.DetectMutations(func(m cache.Mutation) {
			m.Informer = e.Name + ": " + m.Informer
			mutated(m)
		})
	}
	var running sync.WaitGroup
	running.Go(func() { _ = e.Group.Run(ctx) })
	defer func() {
		stop()
		running.Wait()
	}()
	if err := e.Group.WaitSynced(ctx); err != nil {
		s.set(e, false, err)
		if ctx.Err() == nil && log != nil {
			log.Error("a cluster is left out", "cluster", e.Name, "err", err)
		}
		<-ctx.Done()
		return
	}
	s.set(e, true, nil)
	for _, source := range s.wire(e) {
		defer source.Remove()
	}
	<-ctx.Done()
	s.set(e, false, nil)
}

func (s *Clusters[V]) set(e *engaged[V], filled bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.filled, e.err = filled, err
}

// wire adds the caches of a cluster to the controllers. Those of one controller are used
// together.
func (s *Clusters[V]) wire(e *engaged[V]) (sources []*Source) {
	type adder interface{ addLate(...*input) *Source }
	var order []adder
	inputs := make(map[adder][]*input)
	for _, w := range s.wires {
		if inputs[w.controller] == nil {
			order = append(order, w.controller)
		}
		inputs[w.controller] = append(inputs[w.controller], w.input(e.Name, e.v))
	}
	for _, c := range order {
		sources = append(sources, c.addLate(inputs[c]...))
	}
	return sources
}
