package store

import (
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// drop is a table that was removed at a revision. A restore may restore it.
type drop struct {
	table *Table
	at    uint64
}

// Drop deletes all objects of r, ends its watches and removes it.
func (st *Store) Drop(r kube.Resource) {
	t := st.tables[r.GroupResource()]
	if t == nil {
		return
	}
	delete(st.tables, r.GroupResource())
	at := st.rev
	for o := range t.sorted.All() { // as they were at the beginning
		st.Commit(t, o.Key, nil)
	}
	for w := range t.watches {
		w.end(EndClean)
	}
	if t.defined {
		// The definition was there until the revision at.
		definitions := st.tables[kube.CustomResourceDefinitions.GroupResource()]
		st.dropped = slices.DeleteFunc(st.dropped, func(d drop) bool { return d.at <= definitions.floor })
		st.dropped = append(st.dropped, drop{t, at})
		st.trim()
	}
}

// unknown reports whether the state of t at rv was dropped. Before t was added it had
// no objects.
func (t *Table) unknown(rv uint64) bool { return t.born <= rv && rv < t.floor }

// restorable returns the oldest revision, not before rv, of which the state of every
// resource is known. The caller holds the lock.
func (st *Store) restorable(rv uint64) uint64 {
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

// restore restores every resource and the revision to their state at rv, which must be
// restorable. Of the defined resources, those whose definition existed at rv are
// served. The caller holds the lock.
func (st *Store) restore(rv uint64) error {
	if oldest := st.restorable(rv); oldest != rv || rv > st.rev {
		return fmt.Errorf("restore to revision %d: the states of all resources are known from %d to %d", rv, oldest, st.rev)
	}
	for name, t := range st.tables {
		if t.defined && rv < t.born {
			delete(st.tables, name)
			for w := range t.watches {
				w.end(EndReset)
			}
		}
	}
	for _, d := range st.dropped {
		if d.table.born <= rv && rv < d.at {
			st.tables[d.table.Info.GroupResource()] = d.table
		}
	}
	st.dropped = slices.DeleteFunc(st.dropped, func(d drop) bool { return rv < d.at })
	for _, t := range st.tables {
		t.restore(rv)
	}
	st.rev = rv
	st.notify()
	st.defineAll() // as they were then; the controllers run again
	return nil
}

// restore restores t to its state at rv.
func (t *Table) restore(rv uint64) {
	undone := t.since(rv)
	t.log = t.log[:len(t.log)-len(undone)]
	t.forgotten = min(t.forgotten, t.base+len(t.log))
	t.bytes -= pastOf(undone)
	if rv < t.born {
		t.sorted, t.born, t.floor = Collection{}, rv, rv
	} else {
		t.sorted = t.sorted.back(undone)
	}
	t.objects = make(map[kube.Key]*object.Object, t.sorted.size)
	for o := range t.sorted.All() {
		t.objects[o.Key] = o
	}
	t.past = nil
	t.recent = rv
}

// Before returns the revision of n writes ago, or the oldest that can be restored.
func (st *Store) Before(n int) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.Past(n)
}

// Past is Before for callers that hold mu.
func (st *Store) Past(n int) uint64 {
	return st.restorable(st.rev - min(uint64(max(n, 0)), st.rev-1))
}

// RestoreTo restores to the revision that to returns, which is called with mu held.
func (st *Store) RestoreTo(to func() uint64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.restore(to())
}
