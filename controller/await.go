package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
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

// Await holds key back until cached shows a write; written is the object that the server returned
// for it, see [cache.Informer.Await]. Call it in a run after each write that the next run must
// see, the removal of the last finalizer included; otherwise the next run may decide on an older
// state, and for instance create an object twice. Only the key waits, not the worker. After
// Options.AwaitTimeout it runs even if the cache does not show the write. written may have another
// type than the objects of the cache. If somebody deleted the object before the cache showed it,
// the informer may have listed again and called no handler ([cache.ErrVanished]): then the key is
// added again.
//
// Await is for the writes of this process. The writes of the previous leader are in the
// caches when [Controller.Run] begins to work, see [cache.Informer.UpToDate].
//
//	d, err := deployments.Create(ctx, want)
//	if err == nil {
//		ctl.Await(key, informer, d)
//	}
func (c *Controller[K]) Await(key K, cached Awaiter, written kube.Object) {
	c.addAwaited(key, awaited{cached.Name(), written, cached.Await})
}

// AwaitDeleted is Await after a deletion: it holds key back until cached shows that the
// object is deleted, was replaced by one with the same name, or has a
// deletionTimestamp.
func (c *Controller[K]) AwaitDeleted(key K, cached Awaiter, deleted kube.Object) {
	c.addAwaited(key, awaited{cached.Name(), deleted, cached.AwaitDeleted})
}

// Awaited returns col, changed so that the next run of key sees its writes: each write or deletion
// that succeeds calls Await or AwaitDeleted, with key and each of the caches. Use it in a run for
// all writes of a collection:
//
//	deployments := controller.Awaited(ctl, key, deployments, informer)
//	_, _, err := deployments.CreateOrUpdate(ctx, key, ...)
//
// DeleteAll and Evict are not awaited.
func Awaited[K comparable, T kube.Object](c *Controller[K], key K, col client.Collection[T], caches ...Awaiter) client.Collection[T] {
	col.Written = func(o kube.Object) {
		for _, in := range caches {
			c.Await(key, in, o)
		}
	}
	col.Deleted = func(o kube.Object) {
		gone := kube.Partial{Meta: kube.Meta{Namespace: o.GetNamespace(), Name: o.GetName(), ResourceVersion: o.GetResourceVersion()}}
		if id, ok := o.(interface{ GetUID() string }); ok {
			gone.UID = id.GetUID()
		}
		if gone.ResourceVersion == "" {
			gone.ResourceVersion = "1" // the server does not say at which one: wait until it is not there
		}
		for _, in := range caches {
			c.AwaitDeleted(key, in, gone)
		}
	}
	return col
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

// await waits until the caches show the writes, in their order.
func (c *Controller[K]) await(ctx context.Context, key K, pending []awaited) {
	ctx, cancel := context.WithTimeout(ctx, c.o.AwaitTimeout)
	defer cancel()
	for _, a := range pending {
		switch err := a.wait(ctx, a.object); {
		case errors.Is(err, cache.ErrVanished): // no handler is called for it
			c.queue.AddWith(key, queue.Add[Cause]{Cause: Cause{Input: a.in, Type: watch.Deleted, Object: kube.Key{Namespace: a.object.GetNamespace(), Name: a.object.GetName()}}})
		case err != nil:
			c.log.Warn("the cache does not show a write; continuing without it", "key", fmt.Sprint(key), "informer", a.in, "err", err)
		}
	}
}
