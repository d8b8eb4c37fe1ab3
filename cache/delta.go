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

	// Old is the state before; zero for Added. New is the state after; for Deleted it
	// is the final state, or, if Inferred, the last known one.
	Old, New T

	// Revision of the change. For an inferred deletion: that of the first list without the object,
	// or that of the object which replaced it.
	Revision kube.Revision

	// Initial: the object existed when the handler was added, or is in the first list.
	Initial bool

	// Inferred: no event reported the change, but a later list, or an object with the same name and
	// another UID, shows it. Intermediate states may be missing.
	Inferred bool

	// Resync: nothing changed; see [Handler.ResyncEvery]. Type is Modified, and Old is New.
	Resync bool
}

// Funcs is a handler with one function for each type of change; each may be nil. Pass
// its Handle to [Informer.Handle].
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
