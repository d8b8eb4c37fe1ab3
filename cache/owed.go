package cache

import (
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// owed returns the objects that are gone and of which somebody who was told so
// has not dealt with it. The caller has the turn.
func (i *Informer[T]) owed() []record[T] {
	i.mu.Lock()
	gone := i.warm.gone
	i.warm.gone = nil
	handlers := i.handlers
	i.mu.Unlock()

	var owed []record[T]
	type object struct {
		key kube.Key
		uid string
	}
	known := map[object]bool{}
	note := func(r record[T]) {
		if o := (object{r.key, r.uid}); !known[o] {
			known[o] = true
			owed = append(owed, r)
		}
	}
	for _, r := range i.warm.left {
		note(r)
	}
	tell := func(deletions []Delta[T]) {
		for _, d := range deletions {
			note(record[T]{d.Key, entry[T]{object: d.New, uid: d.UID, revision: d.Revision}})
		}
	}
	for _, deletions := range gone {
		tell(deletions())
	}
	i.warm.left = slices.Clone(owed)
	for _, h := range handlers {
		if h.owed != nil {
			tell(h.owed())
		}
	}
	return owed
}
