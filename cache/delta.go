package cache

import (
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Delta is one change of a store.
type Delta[T kube.Object] struct {
	Type watch.Type // Added, Modified or Deleted
	Key  kube.Key
	UID  string

	// Old is the state before: zero in Added. New is the state after; in
	// Deleted it is the final state, or the last one known where Inferred.
	Old, New T

	// Revision of the change. For an inferred deletion it is that of the list
	// that no longer had the object.
	Revision kube.Revision

	// Initial: it was there when the handler began, or is told by the first list.
	Initial bool

	// Inferred: learnt by comparing a later list with the store, not from an
	// event. States in between may have been missed.
	Inferred bool

	// Resync: nothing changed; the handler asked to be told again from time to
	// time. Type is Modified, and Old is New.
	Resync bool
}

// Funcs is a handler by type of change; each may be nil. Pass its Handle to
// [Informer.Handle].
type Funcs[T kube.Object] struct {
	Added    func(object T, initial bool)
	Modified func(old, object T)
	Deleted  func(last T)
}

// Handle calls the function for d's type.
func (f Funcs[T]) Handle(d Delta[T]) {
	switch {
	case d.Type == watch.Added && f.Added != nil:
		f.Added(d.New, d.Initial)
	case d.Type == watch.Modified && f.Modified != nil:
		f.Modified(d.Old, d.New)
	case d.Type == watch.Deleted && f.Deleted != nil:
		f.Deleted(d.New)
	}
}

// Filter returns a handler that sees only the objects that keep selects: one that
// comes to be selected as Added, one that ceases to be as Deleted. keep must
// depend on nothing but the object.
//
// After a crash a [Snapshot] knows that an object exists, and not that its state since
// the snapshot was selected. Where the server's history of the meantime has expired, an
// object that was selected only between the snapshot and the crash, and then no longer,
// or was deleted, ends without a Deleted. Whoever must not miss that selects on the
// server, by watch.Options.
func Filter[T kube.Object](keep func(T) bool, f func(Delta[T])) func(Delta[T]) {
	return func(d Delta[T]) {
		was := d.Type != watch.Added && keep(d.Old)
		is := d.Type != watch.Deleted && keep(d.New)
		switch {
		case d.Type != watch.Modified:
			if !was && !is {
				return
			}
		case was && is:
		case is:
			var none T
			d.Type, d.Old = watch.Added, none
		case was:
			d.Type = watch.Deleted
		default:
			return
		}
		f(d)
	}
}
