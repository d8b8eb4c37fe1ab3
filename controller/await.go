package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/queue"
	"github.com/listwatch/listwatch/watch"
)

// Awaiter is a cache that can wait for a write: a *cache.Informer or a
// *cache.SharedInformer.
type Awaiter interface {
	Await(ctx context.Context, written kube.Object) error
	AwaitDeleted(ctx context.Context, deleted kube.Object) error
	Name() string
}

// awaited is a write that a cache does not show yet.
type awaited struct {
	in     string // the name of the cache
	object kube.Object
	wait   func(context.Context, kube.Object) error
}

// Await keeps key back until in shows the write whose response is written, as
// [cache.Informer.Await] says: call it in a run after each write whose effect the
// next run must see, the removal of the last finalizer included, lest it decides upon
// a state that is older than what it did, and creates twice. The worker does not wait
// for it; the key does, for Options.AwaitTimeout at most. The object may be of
// another type than those of the cache. If somebody deleted the object before the cache
// showed it, and no handler was called because the informer had to list again
// ([cache.ErrVanished]), the key comes again.
//
// It knows the writes of this process. Those of the leader before it are in the caches
// when [Controller.Run] begins to work, as [cache.Informer.UpToDate] says.
//
//	d, err := deployments.Create(ctx, want)
//	if err == nil {
//		ctl.Await(key, informer, d)
//	}
func (c *Controller[K]) Await(key K, in Awaiter, written kube.Object) {
	c.addAwaited(key, awaited{in.Name(), written, in.Await})
}

// AwaitDeleted is Await after a deletion: until in shows that the object is gone, was
// replaced by a namesake, or is marked as deleted.
func (c *Controller[K]) AwaitDeleted(key K, in Awaiter, deleted kube.Object) {
	c.addAwaited(key, awaited{in.Name(), deleted, in.AwaitDeleted})
}

func (c *Controller[K]) addAwaited(key K, a awaited) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting[key] = append(c.awaiting[key], a)
}

func (c *Controller[K]) takeAwaited(key K) []awaited {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := c.awaiting[key]
	delete(c.awaiting, key)
	return pending
}

// await waits until the caches show what was written, in the order of the writes.
func (c *Controller[K]) await(ctx context.Context, key K, pending []awaited) {
	ctx, cancel := context.WithTimeout(ctx, c.o.AwaitTimeout)
	defer cancel()
	for _, a := range pending {
		switch err := a.wait(ctx, a.object); {
		case errors.Is(err, cache.ErrVanished): // no handler will say so
			c.queue.AddWith(key, queue.Add[Cause]{Cause: Cause{Input: a.in, Type: watch.Deleted, Object: kube.Key{Namespace: a.object.GetNamespace(), Name: a.object.GetName()}}})
		case err != nil:
			c.log.Warn("the cache does not show a write; going on without it", "key", fmt.Sprint(key), "informer", a.in, "err", err)
		}
	}
}
