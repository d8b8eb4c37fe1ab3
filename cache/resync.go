package cache

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// longestResync limits the interval, so that it can be added to a time.
const longestResync = 100 * 365 * 24 * time.Hour

// ResyncEvery calls the handler with all objects about every d, with a jitter of a
// tenth, from the store and not from the server; 0 = never, the default. It returns h.
//
// During a resync a change waits for at most one call, because each call takes the
// informer's lock separately.
func (h *Handler[T]) ResyncEvery(d time.Duration) *Handler[T] {
	h.mu.Lock()
	h.every = min(max(d, 0), longestResync)
	h.mu.Unlock()
	select {
	case h.informer.resynced <- struct{}{}:
	default: // resync will read it
	}
	return h
}

// resync calls handlers with what they have seen, until ctx is done.
func (i *Informer[T]) resync(ctx context.Context) error {
	due := map[*Handler[T]]time.Time{}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(i.nextResync(due))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-i.resynced:
		case <-timer.C:
		}
		for h, at := range due {
			if time.Now().Before(at) {
				continue
			}
			i.redeliver(ctx, h)
			delete(due, h) // nextResync sets it again
		}
	}
}

// nextResync updates when each handler is due and returns the time until the first one is.
func (i *Informer[T]) nextResync(due map[*Handler[T]]time.Time) time.Duration {
	next := time.Hour
	handlers := map[*Handler[T]]bool{}
	for _, h := range i.current() {
		h.mu.Lock()
		every := h.every
		h.mu.Unlock()
		if every == 0 {
			continue
		}
		handlers[h] = true
		latest := time.Now().Add(every + time.Duration(rand.Float64()*0.1*float64(every)))
		if at, ok := due[h]; !ok || at.After(latest) {
			due[h] = latest
		}
		next = min(next, time.Until(due[h]))
	}
	for h := range due {
		if !handlers[h] {
			delete(due, h)
		}
	}
	return max(next, 0)
}

// redeliver calls h with each object.
func (i *Informer[T]) redeliver(ctx context.Context, h *Handler[T]) {
	for key := range i.store.entries() {
		if !i.redeliverOne(ctx, h, key) {
			return
		}
	}
}

// redeliverOne calls h with one object. It returns false if ctx is done.
func (i *Informer[T]) redeliverOne(ctx context.Context, h *Handler[T], key kube.Key) bool {
	if !i.begin(ctx) {
		return false
	}
	defer i.finish()
	// The object may have changed since, and h was called then, or be deleted.
	if e, ok := i.store.entry(key); ok {
		h.call(Delta[T]{Type: watch.Modified, Key: key, UID: e.uid, Old: e.object, New: e.object, Revision: e.revision, Resync: true})
	}
	return true
}
