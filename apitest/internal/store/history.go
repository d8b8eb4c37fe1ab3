package store

import (
	"cmp"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// past returns the bytes of the states that are kept for e: next is the present, or prev
// of a later event.
func (e Event) past() (n int) {
	for _, o := range []*object.Object{e.prev, e.gone} {
		if o != nil {
			n += len(o.Body)
		}
	}
	return n
}

// pastOf is past of several.
func pastOf(events []Event) (n int) {
	for _, e := range events {
		n += e.past()
	}
	return n
}

// forget makes the n oldest events unavailable, and drops them as soon as each watch has
// sent them.
func (t *Table) forget(n int) {
	t.forgotten = max(t.forgotten, t.base+n)
	t.floor = max(t.floor, t.log[n-1].rv)
	t.recent = max(t.recent, t.floor)
	t.past = slices.DeleteFunc(t.past, func(m moment) bool { return m.rv < t.floor })
	n = min(t.forgotten-t.base, len(t.log))
	for w := range t.watches {
		if w.how == Running {
			n = min(n, max(w.cursor-t.base, 0))
		}
	}
	t.bytes -= pastOf(t.log[:n])
	clear(t.log[:n])
	t.log = t.log[n:]
	t.base += n
}

// trim forgets the oldest events of all until their past states fit into HistoryBytes.
// It keeps the newest event. Watches that have yet to send a forgotten one end.
func (st *Store) trim() {
	for {
		total, oldest := 0, (*Table)(nil)
		count := func(t *Table) {
			total += t.bytes
			if len(t.log) > 0 && (oldest == nil || t.log[0].rv < oldest.log[0].rv) {
				oldest = t
			}
		}
		for _, t := range st.tables {
			count(t)
		}
		for _, d := range st.dropped {
			count(d.table)
		}
		if total <= st.options.HistoryBytes || oldest.log[0].rv == st.rev {
			return
		}
		for w := range oldest.watches {
			if w.cursor <= oldest.base {
				w.overtaken()
			}
		}
		oldest.forget(1)
	}
}

// compact drops events up to rv of every resource.
func (st *Store) compact(rv uint64) {
	for _, t := range st.tables {
		n, _ := slices.BinarySearchFunc(t.log, rv+1, func(e Event, rv uint64) int {
			if e.rv < rv {
				return -1
			}
			return 1
		})
		if n > 0 {
			t.forget(n)
		}
		t.floor = max(t.floor, rv)
		t.past = slices.DeleteFunc(t.past, func(m moment) bool { return m.rv < t.floor })
		t.recent = max(t.recent, rv)
	}
}

// moment is the objects at a revision.
type moment struct {
	rv      uint64
	objects Collection
}

// mostMoments limits the moments of a table, so that each page of a list need not be
// computed back again.
const mostMoments = 8

// remember keeps the objects at rv. The caller holds the lock.
func (t *Table) remember(rv uint64, objects Collection) {
	if t.remembered(rv) != nil {
		return
	}
	if len(t.past) == mostMoments {
		t.past = slices.Delete(t.past, 0, 1)
	}
	t.past = append(t.past, moment{rv, objects})
}

// remembered returns the objects at rv, nil if they are not kept. The caller holds the
// lock.
func (t *Table) remembered(rv uint64) *Collection {
	for i := range t.past {
		if t.past[i].rv == rv {
			return &t.past[i].objects
		}
	}
	return nil
}

// since returns the events after rv. They may be dropped later: the caller holds the
// lock, and keeps a copy.
func (t *Table) since(rv uint64) []Event {
	i, _ := slices.BinarySearchFunc(t.log, rv+1, func(e Event, rv uint64) int { return cmp.Compare(e.rv, rv) })
	return slices.Clone(t.log[i:])
}
