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

	// Initial: told by the first list.
	Initial bool

	// Inferred: learnt by comparing a later list with the store, not from an
	// event. States in between may have been missed.
	Inferred bool
}
