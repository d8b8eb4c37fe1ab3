package cache

import (
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
)

// maxAbandoned is how many deletions are kept for loops over Changes that have ended.
const maxAbandoned = 4096

// owed returns the objects that are gone and whose deletion was not acknowledged by
// every consumer. Of those that consumers which have ended left behind, it keeps the
// latest, and reports how many it dropped. The caller has the turn.
func (i *Informer[T]) owed() (owed []persist.Record[T], dropped error) {
	handlers, ended := i.consumers()
	type object struct {
		key kube.Key
		uid string
	}
	known := map[object]bool{}
	note := func(r persist.Record[T]) {
		if o := (object{r.Key, r.UID}); !known[o] {
			known[o] = true
			owed = append(owed, r)
		}
	}
	for _, r := range i.warm.left {
		note(r)
	}
	add := func(deletions []Delta[T]) {
		for _, d := range deletions {
			note(persist.Record[T]{Key: d.Key, Object: d.New, UID: d.UID, Revision: d.Revision})
		}
	}
	for _, h := range ended {
		add(h.owed())
	}
	if n := len(owed) - maxAbandoned; n > 0 {
		owed = owed[n:]
		dropped = fmt.Errorf("snapshot of %s: %d deletions are dropped that loops over Changes did not acknowledge before they ended; where a consumer begins with the present, set FIFOOptions.Transient", i.warm.binding.Resource, n)
	}
	i.warm.left = slices.Clone(owed)
	for _, h := range handlers {
		add(h.owed())
	}
	return owed, dropped
}

// consumers returns the handlers that acknowledge deletions, and removes and returns
// those that were abandoned two snapshots ago. The caller has the turn.
func (i *Informer[T]) consumers() (present, ended []*Handler[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var handlers []*Handler[T]
	for _, h := range i.handlers {
		if h.abandoned > 0 {
			h.abandoned++
		}
		switch {
		case h.owed == nil:
			handlers = append(handlers, h)
		case h.abandoned > 3:
			ended = append(ended, h)
		default:
			handlers = append(handlers, h)
			present = append(present, h)
		}
	}
	i.handlers = handlers
	return present, ended
}
