package controller

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/kube"
)

// awaited is a write that a cache does not show yet.
type awaited struct {
	rev  kube.Revision
	wait func(context.Context, kube.Revision) error
}

// Await keeps key back until in shows the revision that a write returned: call it
// in a run after each write whose effect the next run must see, lest it decides
// upon a state that is older than what it did, and creates twice. The worker does
// not wait for it; the key does, for Options.AwaitTimeout at most.
//
//	d, err := deployments.Create(ctx, want)
//	if err == nil {
//		ctl.Await(key, informer, kube.Revision(d.ResourceVersion))
//	}
func (c *Controller[K]) Await(key K, in interface {
	WaitRevision(context.Context, kube.Revision) error
}, rev kube.Revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting[key] = append(c.awaiting[key], awaited{rev, in.WaitRevision})
}

func (c *Controller[K]) takeAwaited(key K) []awaited {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := c.awaiting[key]
	delete(c.awaiting, key)
	return pending
}

// await waits until the caches show what was written.
func (c *Controller[K]) await(ctx context.Context, key K, pending []awaited) {
	ctx, cancel := context.WithTimeout(ctx, c.o.AwaitTimeout)
	defer cancel()
	for _, a := range pending {
		if err := a.wait(ctx, a.rev); err != nil {
			c.log.Warn("the cache does not show a write; going on without it", "key", fmt.Sprint(key), "rev", a.rev, "err", err)
		}
	}
}
