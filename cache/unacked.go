package cache

import (
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/kube"
)

// maxAbandoned limits the deletions that are kept for loops over Changes that have ended.
const maxAbandoned = 4096

// unacked returns the deleted objects whose deletion some consumer has not
// acknowledged. Of those of consumers that have ended it keeps the latest maxAbandoned,
// and reports how many it dropped. The caller holds exclusive.
func (i *Informer[T]) unacked() (unacked []persist.Record[T], dropped error) {
	handlers, ended := i.consumers()
	type object struct {
		key kube.Key
		uid string
	}
	known := map[object]bool{}
	note := func(r persist.Record[T]) {
		if o := (object{r.Key, r.UID}); !known[o] {
			known[o] = true
			unacked = append(unacked, r)
		}
	}
	for _, r := range i.restorer.left {
		note(r)
	}
	add := func(deletions []Delta[T]) {
		for _, d := range deletions {
			note(persist.Record[T]{Key: d.Key, Object: d.New, UID: d.UID, Revision: d.Revision})
		}
	}
	for _, h := range ended {
		add(h.unacked())
	}
	if n := len(unacked) - maxAbandoned; n > 0 {
		unacked = unacked[n:]
		dropped = fmt.Errorf("snapshot of %s: %d deletions dropped that loops over Changes did not acknowledge before they ended; for a consumer that begins with the current state, set FIFOOptions.Transient", i.restorer.identity.Resource, n)
	}
	i.restorer.left = slices.Clone(unacked)
	for _, h := range handlers {
		add(h.unacked())
	}
	return unacked, dropped
}

// consumers returns the handlers that acknowledge deletions. It removes those that were
// abandoned two snapshots ago, and returns them as ended. The caller holds exclusive.
func (i *Informer[T]) consumers() (present, ended []*Handler[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var handlers []*Handler[T]
	for _, h := range i.handlers {
		if h.abandoned > 0 {
			h.abandoned++
		}
		switch {
		case h.unacked == nil:
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
