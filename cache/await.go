package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/uid"
	"github.com/listwatch/listwatch/kube"
)

// ErrVanished is the error of Await if the store does not have the object, and no handler got it
// since Await began: the informer had to list again, and the object was deleted by then, or is not
// selected.
var ErrVanished = errors.New("the object was deleted before the cache showed it, or is not selected")

// Await waits until the store shows a write, so that what is read from the store
// afterwards includes it. written is the object that the server returned for the write, of
// any type, with its key, UID and resourceVersion. When Await returns nil, all handlers have
// handled the event of the write.
//
// The store shows a write when it has the object at the written revision or a later one, or
// a newer object with the same name. If the write removed the last finalizer of a deleted
// object, the object was deleted: then Await waits until it is gone, or one with the same name
// and another UID has replaced it.
//
// Await also returns nil, or [ErrVanished] (see below), for one of these reasons:
//
//   - The watch of the object's namespace has reached the written revision: if the store does not
//     have the object, it was deleted, or the selectors do not match it any more.
//   - Two or more lists began since the call; the last one, later than the write, has ended.
//   - The store does not have the object, and the informer does not watch its namespace.
//   - The store does not have the object, and the selectors or the Shard exclude written. The name
//     and namespace of written are always compared, its labels if it has a method GetLabels, and
//     other fields if its JSON has them. (To wait for an earlier write, pass what it returned.)
//
// For the first two reasons, Await returns [ErrVanished] instead of nil if the store never had the
// object since the call, and the informer listed again meanwhile. Then the object was deleted, or a
// selector excludes it by a field or labels that the argument written lacks. No handler was called
// with it since the call.
//
// Await may wait until ctx is done if the server was restored to a state before the write, or if
// revisions are not numbers and another write follows at once: then only an equal revision counts.
//
// If ctx ends first, or the informer has ended, the error says why, as for WaitSynced.
// Handlers must not call Await of their own informer.
func (i *Informer[T]) Await(ctx context.Context, written kube.Object) error {
	w, err := i.newWrite(written)
	if err != nil {
		return err
	}
	w.deletes = w.meta.DeletionTimestamp != nil && len(w.meta.Finalizers) == 0 &&
		(w.meta.DeletionGracePeriodSeconds == nil || *w.meta.DeletionGracePeriodSeconds == 0)
	return i.await(ctx, w, fmt.Sprintf("showing %s at revision %s", w.key, w.revision))
}

// AwaitDeleted waits until the store shows that the object was deleted: it is
// gone, one with the same name and another UID has replaced it, or it has a
// deletionTimestamp, because finalizers or a grace period keep it. The last case
// requires that the JSON of T has the deletionTimestamp. Otherwise it is like Await.
func (i *Informer[T]) AwaitDeleted(ctx context.Context, deleted kube.Object) error {
	w, err := i.newWrite(deleted)
	if err != nil {
		return err
	}
	w.deletes, w.marks = true, true
	return i.await(ctx, w, fmt.Sprintf("showing the deletion of %s", w.key))
}

func (i *Informer[T]) await(ctx context.Context, w *write, what string) error {
	if w.excluded && i.store.shows(w) && !w.handling {
		return nil // no event follows, and no handler is called
	}
	if err := i.wait(ctx, what, false, func() (bool, error) { return i.store.shows(w), nil }); err != nil {
		return err
	}
	if w.vanished {
		return fmt.Errorf("%s: %s: %w", i.name, w.key, ErrVanished)
	}
	return nil
}

// write is a write that Await waits for. It is for one goroutine.
type write struct {
	key      kube.Key
	revision kube.Revision
	meta     kube.Meta // the metadata that the written object has

	deletes  bool // wait until the object is deleted
	marks    bool // or has a deletionTimestamp
	excluded bool // it is known not to be selected
	handling bool // excluded, and the last event changed the object: handlers may be running

	from, to int                   // the sources that may have the object; empty range = none
	began    []uint32              // their generations at the beginning
	seen     bool                  // the store had the object since then
	vanished bool                  // it is deleted, and no event showed that
	checked  kube.Revision         // revision of the entry that marked was last called for
	marked   func(object any) bool // reports a deletionTimestamp
}

func (i *Informer[T]) newWrite(o kube.Object) (*write, error) {
	if o == nil {
		return nil, fmt.Errorf("%s: await: the object is nil: pass what the write returned", i.name)
	}
	w := &write{key: kube.Key{Namespace: o.GetNamespace(), Name: o.GetName()}, revision: kube.Revision(o.GetResourceVersion()), to: len(i.sources)}
	if w.key.Name == "" || w.revision == "" {
		return nil, fmt.Errorf("%s: await %q: the object has no name or no resourceVersion: pass what the write returned", i.name, w.key)
	}
	json, err := codec.Encode(o)
	if err == nil {
		w.meta = metaOf(json)
	}
	if id, ok := uid.Of(&o); ok {
		w.meta.UID = id
	}
	if spaces := i.selection.Namespaces; spaces != nil {
		n := slices.IndexFunc(spaces, func(ns string) bool { return ns == "" || ns == w.key.Namespace || w.key.Namespace == "" })
		if w.from, w.to = n, n+1; n < 0 {
			w.from = 0
		}
	}
	w.excluded = w.from == w.to || i.selection.Excludes(o, w.meta.UID, json)
	w.began = i.store.generations()
	w.marked = func(object any) bool {
		json, err := codec.Encode(object)
		return err == nil && metaOf(json).DeletionTimestamp != nil
	}
	return w, nil
}

// metaOf returns the metadata of an object; zero if they cannot be decoded.
func metaOf(json []byte) kube.Meta {
	p, err := codec.Decode[kube.Partial](json)
	if err != nil {
		return kube.Meta{}
	}
	return p.Meta
}

func (s *Store[T]) generations() (all []uint32) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.parts {
		all = append(all, p.generation)
	}
	return all
}

// shows reports whether the store shows w.
func (s *Store[T]) shows(w *write) bool {
	s.mu.RLock()
	e, known := s.objects[w.key]
	past, relisted := true, false // past: all sources that may have the object show the write; relisted: one has listed again
	for n := w.from; n < w.to; n++ {
		p := s.parts[n]
		listed := !p.listing && p.generation >= w.began[n]+2
		relisted = relisted || p.generation > w.began[n]
		past = past && (listed || !p.restored && reached(p.revision, w.revision))
	}
	p := s.parts[e.part]
	later := known && !p.restored && reached(e.revision, w.revision)
	exact := e.revision == w.revision && (!p.restored || p.listing && e.generation == p.generation)
	w.handling = w.excluded && slices.ContainsFunc(s.deltas, func(d Delta[T]) bool { return d.Key == w.key })
	s.mu.RUnlock()

	same := known && sameUID(e.uid, w.meta.UID)
	w.seen = w.seen || same
	switch {
	case w.deletes && same:
		return w.marks && w.hasMark(e.revision, e.object)
	case w.deletes:
		return past || w.seen || w.excluded
	case w.excluded && !same:
		return true
	}
	w.vanished = past && relisted && !known && !w.seen
	return past || later || same && exact
}

// reached reports whether at is known to be rev or later.
func reached(at, rev kube.Revision) bool { return at == rev && at.Ordered() || at.Newer(rev) }

// hasMark checks an entry for a deletionTimestamp, once for each revision.
func (w *write) hasMark(rev kube.Revision, object any) bool {
	if rev == w.checked {
		return false
	}
	w.checked = rev
	return w.marked(object)
}
