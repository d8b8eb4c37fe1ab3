package apitest

import (
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// drop is a table that was removed at a revision. A restore may bring it back.
type drop struct {
	table *table
	at    uint64
}

// drop deletes all objects of r, ends its watches and forgets it.
func (st *store) drop(r kube.Resource) {
	t := st.tables[r.GroupResource()]
	if t == nil {
		return
	}
	delete(st.tables, r.GroupResource())
	at := st.rev
	for o := range t.sorted.all() { // as they were at the beginning
		st.commit(t, o.Key, nil)
	}
	for w := range t.watches {
		w.end(endClean)
	}
	if t.defined {
		// The definition was there until the revision at.
		definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
		st.dropped = slices.DeleteFunc(st.dropped, func(d drop) bool { return d.at <= definitions.floor })
		st.dropped = append(st.dropped, drop{t, at})
	}
}

// unknown reports whether the state of t at rv is forgotten. Before t was added it
// had no objects.
func (t *table) unknown(rv uint64) bool { return t.born <= rv && rv < t.floor }

// restorable returns the oldest revision, not before rv, of which the state of every
// resource is known. The caller holds mu.
func (st *store) restorable(rv uint64) uint64 {
	rv = max(rv, st.first)
	for {
		before := rv
		for _, t := range st.tables {
			if t.unknown(rv) {
				rv = t.floor
			}
		}
		for _, d := range st.dropped {
			if rv < d.at && d.table.unknown(rv) {
				rv = d.table.floor
			}
		}
		if rv == before {
			return rv
		}
	}
}

// restore returns every resource to its state at rv, which is restorable, and the
// counter too. Resources whose definition was there at rv, and only those of the
// defined ones, are served. The caller holds mu.
func (st *store) restore(rv uint64) error {
	if oldest := st.restorable(rv); oldest != rv || rv > st.rev {
		return fmt.Errorf("restore to revision %d: the states of all resources are known from %d to %d", rv, oldest, st.rev)
	}
	for name, t := range st.tables {
		if t.defined && rv < t.born {
			delete(st.tables, name)
			for w := range t.watches {
				w.end(endReset)
			}
		}
	}
	for _, d := range st.dropped {
		if d.table.born <= rv && rv < d.at {
			st.tables[d.table.info.GroupResource()] = d.table
		}
	}
	st.dropped = slices.DeleteFunc(st.dropped, func(d drop) bool { return rv < d.at })
	for _, t := range st.tables {
		t.restore(rv)
	}
	st.rev = rv
	st.notify()
	definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
	for o := range definitions.sorted.all() {
		kept, others := resourcesOf(o)
		if kept == nil {
			continue
		}
		if t := st.serve(kept); t.defined {
			t.redefine(kept, others) // as it was then
		}
		if more := established(o); more != nil { // its controllers run again
			st.commit(definitions, more.Key, more)
		}
	}
	return nil
}

// restore returns t to its state at rv.
func (t *table) restore(rv uint64) {
	undone := t.since(rv)
	t.log = t.log[:len(t.log)-len(undone)]
	if rv < t.born {
		t.sorted, t.born, t.floor = collection{}, rv, rv
	} else {
		t.sorted = t.sorted.back(undone)
	}
	t.objects = make(map[kube.Key]*object.Object, t.sorted.size)
	for o := range t.sorted.all() {
		t.objects[o.Key] = o
	}
	t.past = nil
	t.recent = rv
}

// before returns the revision of n writes ago, or the oldest that can be restored.
func (st *store) before(n int) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.past(n)
}

// past is before for callers that hold mu.
func (st *store) past(n int) uint64 {
	return st.restorable(st.rev - min(uint64(max(n, 0)), st.rev-1))
}

// restoreTo is restore to the revision that to returns, which is called with mu held.
func (st *store) restoreTo(to func() uint64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.restore(to())
}
