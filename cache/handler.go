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

// Handler is a function that is told changes.
type Handler[T kube.Object] struct {
	informer *Informer[T]
	keep     func(T) bool // the objects that it is for; nil = all
	f        func(Delta[T])
	owed     func() []Delta[T] // the deletions that f passed on and nobody has acknowledged; nil = none
	synced   chan struct{}     // closed when the initial deltas have returned

	since atomic.Int64 // when the call that runs began, in ns of Unix time; 0 = none runs

	mu      sync.Mutex
	removed bool
	every   time.Duration // resync

	abandoned int // snapshots since a loop over Changes was left, and one; guarded by Informer.mu
}

// Handle adds a handler. It is first told what exists, as Added with Initial set,
// then each change, in order: without gap or repeat, one call at a time. Where
// the informer runs already, Handle returns after what exists has been told, and
// holds up other handlers meanwhile. It must not be called by a handler of the
// same informer.
//
// A panic of f ends the program, as any does.
func (i *Informer[T]) Handle(f func(Delta[T])) *Handler[T] {
	return i.handle(&Handler[T]{f: f})
}

// HandleSelected is Handle for the objects that keep selects: one that comes to be
// selected is delivered as Added, one that ceases to be as Deleted. keep must depend on
// nothing but the object, and is called for each state of it more than once.
func (i *Informer[T]) HandleSelected(keep func(T) bool, f func(Delta[T])) *Handler[T] {
	return i.handle(&Handler[T]{keep: keep, f: f})
}

// handle adds h.
func (i *Informer[T]) handle(h *Handler[T]) *Handler[T] {
	h.informer, h.synced = i, make(chan struct{})
	<-i.turn
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

// replay delivers what exists. The caller has the turn.
func (h *Handler[T]) replay(entries iter.Seq2[kube.Key, entry[T]]) {
	for k, e := range entries {
		h.call(Delta[T]{Type: watch.Added, Key: k, UID: e.uid, New: e.object, Revision: e.revision, Initial: true})
	}
}

// Remove ends the handler: no call begins after Remove has returned, though one
// may still be under way. It may be called by the handler itself.
func (h *Handler[T]) Remove() {
	h.mu.Lock()
	h.removed = true
	h.mu.Unlock()
	i := h.informer
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers = slices.DeleteFunc(slices.Clone(i.handlers), func(o *Handler[T]) bool { return o == h })
}

// abandon ends the handler of a loop over Changes. Where deletions are kept for it, it
// goes on to receive them for two snapshots: where the loop ended because the process
// does, the informer may end some events later, and the snapshot that it then saves is
// to hold what the loop did not get.
func (h *Handler[T]) abandon() {
	i := h.informer
	if i.warm == nil || h.owed == nil {
		h.Remove()
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	h.abandoned = 1
}

// Synced is closed once the handler has been told, and has dealt with, all that
// existed at the beginning.
func (h *Handler[T]) Synced() <-chan struct{} { return h.synced }

// call delivers d, if it is about an object that h is for. The caller has the turn.
func (h *Handler[T]) call(d Delta[T]) {
	h.mu.Lock()
	removed := h.removed
	h.mu.Unlock()
	if removed || !h.narrow(&d) {
		return
	}
	h.since.Store(time.Now().UnixNano())
	h.informer.calling.Store(h)
	h.f(d)
	h.since.Store(0)
	h.informer.calling.Store(nil)
}

// narrow makes of d what it is to somebody who sees only the objects that h is for. It
// reports whether that is anything.
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

// selected reports whether h is for the object as it was before d, and as it is then.
func (h *Handler[T]) selected(d Delta[T]) (was, is bool) {
	return d.Type != watch.Added && h.keep(d.Old), d.Type != watch.Deleted && h.keep(d.New)
}

// sync says that the initial deltas have returned. The caller has the turn.
func (h *Handler[T]) sync() {
	select {
	case <-h.synced:
	default:
		close(h.synced)
	}
}
