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

// Input is a cache that tells what changes: a *cache.Informer or a
// *cache.SharedInformer. Whatever else has events becomes one by cache.From.
type Input[T kube.Object] interface {
	Handle(func(cache.Delta[T])) *cache.Handler[T]
	WaitSynced(context.Context) error
	Name() string // in causes, logs and errors
}

// For adds the key of each object of in that changes. Where predicates are given,
// only for changes that all of them let pass.
func For[T kube.Object](c *Controller[kube.Key], in Input[T], only ...func(cache.Delta[T]) bool) {
	wire(c, in, only, func(d cache.Delta[T], add func(kube.Key)) { add(d.Key) })
}

// Owns adds the key of the controlling owner, an object of owner, of each object of
// in that changes. Where an object changed hands, both get to know.
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

// ownerKey returns the key of the controlling owner of o if it is of the resource,
// of whatever version.
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

// Map adds the keys that f returns for each object of in that changes: for a
// modified one those of the state before, too, so that whatever depended on it gets
// to know. f must be quick: the cache waits for it.
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
		panic("controller " + c.name + ": wire it before Run") // its first runs would not wait for this input
	}
	upToDate := func() func(context.Context) error { return in.WaitSynced }
	if u, ok := in.(interface {
		UpToDate() func(context.Context) error
	}); ok {
		upToDate = u.UpToDate
	}
	c.inputs = append(c.inputs, input{name, in.WaitSynced, upToDate, ready, func() (detach func()) {
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
// informer finds when it starts from a snapshot. A second call does nothing.
func (c *Controller[K]) Attach() {
	c.attached.Do(func() {
		for _, in := range c.inputs {
			c.current = append(c.current, in.upToDate())
			c.detach = append(c.detach, in.attach())
		}
	})
}

// waitForInputs waits until every cache is filled and up to date, and reports why it is
// not. The errors of inputs name them.
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

// The time after which a controller that waits for a cache reports that, and the limit
// that it grows to where the cache asks the server, which may take long.
const (
	patience    = 10 * time.Second
	maxPatience = 5 * time.Minute
)

// waitFor calls wait, with twice the time after each time that was too short, up to the
// longest, until it returns nil.
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
		case !waited: // once: what changes meanwhile is the informer's to log
			c.log.Warn("waiting for a cache", "input", in.name, "err", err)
		}
		for _, t := range c.traces {
			if t.Waiting != nil {
				t.Waiting(in.name, err)
			}
		}
	}
}

var errForgotten = errors.New("it did no work: an informer was never run")

// tooLong is why a wait for a cache was interrupted.
type tooLong time.Duration

func (t tooLong) Error() string { return "after " + time.Duration(t).String() }

// Ready returns nil while the controller works and its inputs are ready, and otherwise
// what is wrong: for a readiness probe. The error does not name the controller.
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

// GenerationChanged lets pass what is not only a change of status or metadata: for
// resources that count generations, such as custom ones with a status subresource.
// Deletion marks count as one. What is resynced passes.
func GenerationChanged[T interface {
	kube.Object
	GetGeneration() int64
}](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || d.Old.GetGeneration() != d.New.GetGeneration()
}

// LabelsChanged lets pass what changed the labels, came or went, or is resynced.
func LabelsChanged[T cache.Labeled](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || !maps.Equal(d.Old.GetLabels(), d.New.GetLabels())
}

// AnnotationsChanged lets pass what changed the annotations, came or went, or is
// resynced.
func AnnotationsChanged[T interface {
	kube.Object
	GetAnnotations() map[string]string
}](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || !maps.Equal(d.Old.GetAnnotations(), d.New.GetAnnotations())
}

// Any lets pass what one of the predicates lets pass.
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
