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
