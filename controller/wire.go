package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/queue"
	"github.com/listwatch/listwatch/watch"
)

// Input is a cache that calls handlers with changes: a *cache.Informer or a
// *cache.SharedInformer. cache.From makes one of any other source of events.
type Input[T kube.Object] interface {
	Handle(func(cache.Delta[T])) *cache.Handler[T]
	WaitSynced(context.Context) error
	Name() string // in causes, logs and errors
}

// For adds the key of each changed object of in, if all predicates return true for the
// change.
func For[T kube.Object](c *Controller[kube.Key], in Input[T], only ...func(cache.Delta[T]) bool) {
	wire(c, in, only, func(d cache.Delta[T], add func(kube.Key)) { add(d.Key) })
}

// Owns adds the key of the controlling owner, an object of owner, for each changed
// object of in. If the owner changed, it adds both keys.
func Owns[T cache.Owned](c *Controller[kube.Key], owner kube.Resource, in Input[T], only ...func(cache.Delta[T]) bool) {
	wire(c, in, only, func(d cache.Delta[T], add func(kube.Key)) {
		now, ok := ownerKey(owner, d.Key, d.New)
		if ok {
			add(now)
		}
		if d.Type == watch.Modified {
			if was, had := ownerKey(owner, d.Key, d.Old); had && (!ok || was != now) {
				add(was)
			}
		}
	})
}

// ownerKey returns the key of the controlling owner of o if that is of the resource, in
// any version.
func ownerKey[T cache.Owned](owner kube.Resource, k kube.Key, o T) (kube.Key, bool) {
	ref, ok := kube.ControllerOf(o.GetOwnerReferences())
	if !ok || ref.Kind != owner.Kind {
		return kube.Key{}, false
	}
	if group, _, found := strings.Cut(ref.APIVersion, "/"); found && group != owner.Group || !found && owner.Group != "" {
		return kube.Key{}, false
	}
	if !owner.Namespaced {
		return kube.Key{Name: ref.Name}, true
	}
	return kube.Key{Namespace: k.Namespace, Name: ref.Name}, true
}

// Map adds the keys that f returns for each changed object of in. For a modified object
// it also adds the keys that f returns for the previous state, so that keys that no
// longer depend on the object run too. f must be fast: the cache waits for it.
func Map[K comparable, T kube.Object](c *Controller[K], in Input[T], f func(T) []K, only ...func(cache.Delta[T]) bool) {
	if f == nil {
		panic("controller " + c.name + ": the function of Map is nil")
	}
	wire(c, in, only, func(d cache.Delta[T], add func(K)) {
		if d.Type == watch.Modified && !d.Resync {
			for _, k := range f(d.Old) {
				add(k)
			}
		}
		for _, k := range f(d.New) {
			add(k)
		}
	})
}

func wire[K comparable, T kube.Object](c *Controller[K], in Input[T], only []func(cache.Delta[T]) bool, keys func(cache.Delta[T], func(K))) {
	if in == nil {
		panic("controller " + c.name + ": the input is nil")
	}
	name := in.Name()
	ready := func() error { return nil }
	if r, ok := in.(interface{ Ready() error }); ok {
		ready = r.Ready
	}
	c.mu.Lock()
	if c.state != wired {
		c.mu.Unlock()
		panic("controller " + c.name + ": wire it before Run") // otherwise its first runs would not wait for this input
	}
	upToDate := func() func(context.Context) error { return in.WaitSynced }
	if u, ok := in.(interface {
		UpToDate() func(context.Context) error
	}); ok {
		upToDate = u.UpToDate
	}
	synced := func() bool {
		i, ok := in.(interface{ Status() cache.Status })
		return ok && i.Status().Synced
	}
	c.inputs = append(c.inputs, input{name, in.WaitSynced, upToDate, synced, ready, func() (detach func()) {
		return in.Handle(func(d cache.Delta[T]) {
			for _, pass := range only {
				if !pass(d) {
					return
				}
			}
			add := queue.Add[Cause]{Cause: Cause{Input: name, Type: d.Type, Object: d.Key, Revision: d.Revision}}
			if d.Initial || d.Resync {
				add.Priority = LowPriority
			}
			keys(d, func(k K) { c.queue.AddWith(k, add) })
		}).Remove
	}})
	c.mu.Unlock()
}

// Attach adds the handlers of the inputs, which Run does otherwise. A Manager calls it
// before it starts the informers, so that the controller gets the deletions that an
// informer finds when it starts from a snapshot. Further calls do nothing.
func (c *Controller[K]) Attach() {
	c.attached.Do(func() {
		for _, in := range c.inputs {
			c.current = append(c.current, in.upToDate())
			c.detach = append(c.detach, in.attach())
		}
	})
}

// mark marks the beginning of Run. Where Attach was called long before, its marks are old;
// those of caches that are not filled yet are kept, so that one list does for both.
func (c *Controller[K]) mark() {
	for n, in := range c.inputs {
		if in.synced() {
			c.current[n] = in.upToDate()
		}
	}
}

// waitForInputs waits until every cache is filled and up to date. Its error says why
// that failed, and names the input.
func (c *Controller[K]) waitForInputs(ctx context.Context) error {
	for n, in := range c.inputs {
		if err := c.waitFor(ctx, in, in.wait, patience, patience); err != nil {
			return err
		}
		if err := c.waitFor(ctx, in, c.current[n], patience, maxPatience); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = nil
	return nil
}

// patience is the time after which a controller reports that it waits for a cache, and
// maxPatience limits its growth while the cache asks the server.
const (
	patience    = 10 * time.Second
	maxPatience = 5 * time.Minute
)

// waitFor calls wait with a limited time until it returns nil. It doubles the time
// after each timeout, up to longest.
func (c *Controller[K]) waitFor(ctx context.Context, in input, wait func(context.Context) error, limit, longest time.Duration) error {
	for waited := false; ; limit, waited = min(2*limit, longest), true {
		limited, cancel := context.WithTimeoutCause(ctx, limit, tooLong(limit))
		err := wait(limited)
		cancel()
		if err == nil {
			if waited {
				c.log.Info("the cache is filled", "input", in.name)
			}
			return nil
		}
		c.mu.Lock()
		c.why = err
		c.mu.Unlock()
		switch {
		case waited && errors.Is(err, cache.ErrNotRunning) && ctx.Err() != nil:
			return fmt.Errorf("%w; add the informer of %s to the Manager, or run it", errForgotten, in.name)
		case ctx.Err() != nil || !errors.As(err, new(tooLong)):
			return err
		case !waited: // once: the informer logs later changes
			c.log.Warn("waiting for a cache", "input", in.name, "err", err)
		}
		for _, t := range c.traces {
			if t.Waiting != nil {
				c.guard("Trace.Waiting", func() { t.Waiting(in.name, err) }, "input", in.name)
			}
		}
	}
}

var errForgotten = errors.New("no work was done: an informer was never run")

// tooLong is the cause of a wait that timed out.
type tooLong time.Duration

func (t tooLong) Error() string { return "after " + time.Duration(t).String() }

// Ready returns nil while the controller works and its inputs are ready, otherwise the
// reason. The error does not name the controller. It is for readiness probes.
func (c *Controller[K]) Ready() error {
	if err := c.begun(); err != nil {
		return err
	}
	for _, in := range c.inputs {
		if err := in.ready(); err != nil {
			return fmt.Errorf("cache of %s: %w", in.name, err)
		}
	}
	return nil
}

// begun returns nil while the controller works.
func (c *Controller[K]) begun() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state {
	case wired:
		return errors.New("has not begun")
	case ended:
		return errors.New("has ended")
	case syncing:
		if c.why != nil {
			return fmt.Errorf("waits: %w", c.why)
		}
		return errors.New("waits for its caches")
	}
	return nil
}

// GenerationChanged passes creations, deletions, resyncs, and updates that change
// metadata.generation. It does not pass updates that change only status or metadata. It
// is for resources that count generations, such as custom ones with a status subresource.
// Setting a deletionTimestamp changes the generation.
func GenerationChanged[T interface {
	kube.Object
	GetGeneration() int64
}](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || d.Old.GetGeneration() != d.New.GetGeneration()
}

// LabelsChanged passes creations, deletions, resyncs, and updates that change labels.
func LabelsChanged[T cache.Labeled](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || !maps.Equal(d.Old.GetLabels(), d.New.GetLabels())
}

// AnnotationsChanged passes creations, deletions, resyncs, and updates that change
// annotations.
func AnnotationsChanged[T interface {
	kube.Object
	GetAnnotations() map[string]string
}](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || !maps.Equal(d.Old.GetAnnotations(), d.New.GetAnnotations())
}

// Any returns a predicate that passes the changes that at least one of preds passes.
func Any[T kube.Object](preds ...func(cache.Delta[T]) bool) func(cache.Delta[T]) bool {
	return func(d cache.Delta[T]) bool {
		for _, pass := range preds {
			if pass(d) {
				return true
			}
		}
		return false
	}
}
