package cache

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Handler is a function that is called with the changes of an informer.
type Handler[T kube.Object] struct {
	informer *Informer[T]
	keep     func(T) bool // the objects to deliver; nil = all
	f        func(Delta[T])
	unacked  func() []Delta[T] // the deletions that f queued and its consumer has not acknowledged; nil = none
	synced   chan struct{}     // closed when the initial deltas have returned

	since atomic.Int64 // when the running call began, in ns of Unix time; 0 = none is running

	mu      sync.Mutex
	removed bool
	every   time.Duration // resync

	abandoned int // 1 + the snapshots since its loop over Changes was left; 0 = not left; guarded by Informer.mu
}

// Handle adds a handler. The handler is first called with the existing objects, as Added with
// Initial set, then with each change, in order, each once, one call at a time. If the informer is
// running, Handle returns after the calls for the existing objects, and other handlers wait
// meanwhile. A handler must not call Handle on its own informer.
//
// A panic of f passes through Handle if Handle calls f; otherwise see [Informer.Run].
func (i *Informer[T]) Handle(f func(Delta[T])) *Handler[T] {
	return i.handle(&Handler[T]{f: f})
}

// HandleSelected is Handle for the objects that keep selects: an object that becomes
// selected is delivered as Added, one that is no longer selected as Deleted. keep must
// depend on the object only; it is called more than once for each state.
func (i *Informer[T]) HandleSelected(keep func(T) bool, f func(Delta[T])) *Handler[T] {
	return i.handle(&Handler[T]{keep: keep, f: f})
}

// handle adds h.
func (i *Informer[T]) handle(h *Handler[T]) *Handler[T] {
	h.informer, h.synced = i, make(chan struct{})
	<-i.exclusive
	defer i.finish()
	h.replay(i.store.entries())
	if i.store.Synced() {
		h.sync()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = append(slices.Clip(i.handlers), h)
	return h
}

// replay delivers the existing objects. The caller holds exclusive.
func (h *Handler[T]) replay(entries iter.Seq2[kube.Key, entry[T]]) {
	for k, e := range entries {
		h.call(Delta[T]{Type: watch.Added, Key: k, UID: e.uid, New: e.object, Revision: e.revision, Initial: true})
	}
}

// Remove ends the handler: no call begins after Remove has returned, though one may
// still be running. The handler itself may call it.
func (h *Handler[T]) Remove() {
	h.mu.Lock()
	h.removed = true
	h.mu.Unlock()
	i := h.informer
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = slices.DeleteFunc(slices.Clone(i.handlers), func(o *Handler[T]) bool { return o == h })
}

// abandon ends the handler of a loop over Changes. If deletions are kept for it, it still
// receives them until a snapshot was due twice, saved or not: when the loop ends because the
// process ends, the informer may end some events later, and its last snapshot must hold what the
// loop did not receive.
func (h *Handler[T]) abandon() {
	i := h.informer
	if i.restorer == nil || h.unacked == nil {
		h.Remove()
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	h.abandoned = 1
}

// Synced returns a channel that is closed when the handler has handled all initial objects. If the
// handler is removed before that, the channel is never closed.
func (h *Handler[T]) Synced() <-chan struct{} { return h.synced }

// call delivers d if keep selects its object. The caller holds exclusive.
func (h *Handler[T]) call(d Delta[T]) {
	h.mu.Lock()
	removed := h.removed
	h.mu.Unlock()
	if removed || !h.narrow(&d) {
		return
	}
	h.since.Store(time.Now().UnixNano())
	h.informer.calling.Store(h)
	defer h.informer.calling.Store(nil) // also if f panics, and the caller of Handle recovers
	defer h.since.Store(0)
	h.f(d)
}

// narrow changes d to what it means for a consumer that sees only the objects that keep
// selects. It returns false if that is nothing.
func (h *Handler[T]) narrow(d *Delta[T]) bool {
	if h.keep == nil {
		return true
	}
	was, is := h.selected(*d)
	switch {
	case d.Type == watch.Modified && is && !was:
		var none T
		d.Type, d.Old = watch.Added, none
	case d.Type == watch.Modified && was && !is:
		d.Type, d.Initial = watch.Deleted, false
	}
	return was || is
}

// selected reports whether keep selects the object before d and after d.
func (h *Handler[T]) selected(d Delta[T]) (was, is bool) {
	return d.Type != watch.Added && h.keep(d.Old), d.Type != watch.Deleted && h.keep(d.New)
}

// sync notes that the handler has returned from the initial deltas. The caller holds
// exclusive.
func (h *Handler[T]) sync() {
	select {
	case <-h.synced:
	default:
		close(h.synced)
	}
}
