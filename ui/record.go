package ui

import (
	"cmp"
	"maps"
	"unique"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/diff"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/managed"
	"github.com/listwatch/listwatch/ui/internal/rates"
	"github.com/listwatch/listwatch/watch"
)

// record takes one change of the store: it becomes a state of the object's history, an
// entry of the log unless it is of the first list, and a row of the views.
func (k *kind) record(d cache.Delta[*item], p parsed) {
	at := k.now()
	switch d.Type {
	case watch.Added:
		d.New.life.before = k.lives[d.Key]
		k.lives[d.Key] = d.New.life
		d.New.n = k.u.number.Add(1)
		k.byNamespace[d.Key.Namespace]++
	case watch.Modified:
		d.New.life = d.Old.life
		d.New.hits = string(archive.Hits(k.columns, d.Old.cells, d.New.cells))
	case watch.Deleted:
		k.byNamespace[d.Key.Namespace]--
		last := *d.New
		last.life, last.gone = d.Old.life, at
		last.life.gone, last.life.last = at, &last
		d.New = &last
	}
	it, op := d.New, history.OpOf(string(d.Type))
	if k.replayed == 0 {
		p.by = it.life.writer(d, at, p.managed)
	}
	if !d.Initial {
		it.op, it.changed = op, at
		c := change{at: at, kind: k, op: op, life: it.life, by: unique.Make(p.by), inferred: d.Inferred}
		switch {
		case k.id == "events" && d.Type == watch.Deleted:
			c.what = "Events expire: by default an hour after their last change"
		case k.id == "events":
			c.what = k.report(it)
		case d.Type == watch.Added && it.life.before != nil:
			c.what = k.headline(it.life.before, p, diff.Again)
		case d.Type == watch.Modified:
			cells := archive.What(k.columns, []byte(it.hits), d.Old.cells, it.cells, maxWhat)
			switch {
			case cells == "", it.wanted != d.Old.wanted, k.id == "configmaps", k.id == "secrets": // what somebody wants is said, and not what follows of it
				c.what = cmp.Or(k.headline(it.life, p, diff.Briefly(diff.Summary)), cells, "changed: too large to be compared here")
			case k.id == "pods": // whose conditions say what the cells do
				c.what = cells
			default:
				c.what = cells + k.headline(it.life, p, diff.Briefly(diff.Conditions))
			}
		}
		it.pos = k.u.log.add(c)
		k.rates.Add(at, op)
		if g := k.missed; d.Inferred && g != nil {
			c := rates.Counts{g.Added, g.Modified, g.Deleted}
			c.Add(op)
			g.Added, g.Modified, g.Deleted = c[0], c[1], c[2]
		}
	} else {
		it.pos = k.u.log.position()
	}
	k.keep(d, it, p, at)
	for v := range k.views {
		v.touch(d.Old, it)
	}
}

// writer returns who wrote a state. Who deleted an object, or asked for it, is not known.
func (l *life) writer(d cache.Delta[*item], at int64, entries []managed.Entry) string {
	marks := managed.MarksOf(entries)
	switch {
	case d.Type == watch.Deleted:
		return ""
	case l.marks == "":
		l.by = unique.Make(managed.Latest(entries))
	case d.New.deleting && !d.Old.deleting && marks == l.marks:
		l.by = unique.Make("")
	default:
		l.by = unique.Make(managed.Writer(l.marks, l.by.Value(), at-d.Old.changed < 2000, entries))
	}
	l.marks = marks
	return l.by.Value()
}

// report is what an Event says: "Warning BackOff, pod/web: Back-off restarting container".
func (k *kind) report(it *item) string {
	return printable.Cut(describe.Report(maps.Collect(it.cells.Named(k.columns))), 2*maxWhat)
}

// maxWhat is how many bytes of a change are said in the log.
const maxWhat = 200

// maxHeadline is how many bytes an object has whose states are compared for the log.
const maxHeadline = 64 << 10

// headline says what a change is about that no cell shows, by the last state of l. It is
// called before keep.
func (k *kind) headline(l *life, p parsed, say func(before, now string) string) string {
	_, before, err := k.u.history.Newest(&l.past)
	if err != nil || p.object.IsZero() || len(p.object.JSON()) > maxHeadline {
		return ""
	}
	return printable.Cut(say(before.JSON(), p.object.JSON()), 2*maxWhat)
}

// touchAll makes all views new: the columns or all rows are other ones.
func (k *kind) touchAll() {
	for v := range k.views {
		v.built = false
	}
}

// keep adds a state to the history.
func (k *kind) keep(d cache.Delta[*item], it *item, p parsed, at int64) {
	if d.Type == watch.Deleted && d.Inferred {
		p = parsed{} // of the object that took its name, or of none
	}
	st := history.State{Pos: it.pos, At: at, Op: history.OpOf(string(d.Type)), By: p.by, Revision: it.revision, Cells: it.cells, First: d.Initial, Inferred: d.Inferred}
	if d.Type == watch.Modified {
		k.bytes -= int64(d.Old.bytes)
		k.u.memory.Add(-int64(d.Old.bytes))
	}
	object := p.object
	if object.IsZero() {
		_, object, _ = k.u.history.Newest(&it.past)
	}
	packed, err := k.compressor.Compress(compressed.Of(object))
	if err == nil {
		err = k.u.history.Add(&it.past, st, packed, object.JSON())
	}
	if err != nil {
		k.undecodable++ // memory was damaged
	}
	kept := archive.State{At: at, Op: st.Op.String(), Key: it.key, UID: it.uid, Revision: it.revision, By: st.By, Cells: it.cells, Inferred: st.Inferred, Object: packed}
	k.write(func(s *archive.Segment) error { return s.Add(kept) })
	if d.Type == watch.Deleted {
		k.u.history.End(&it.past)
		k.bytes -= int64(d.Old.bytes)
		k.u.memory.Add(-int64(d.Old.bytes))
		return
	}
	it.bytes = int32(packed.MemorySize() + itemOverhead + len(it.cells)) // maxObject, at most
	k.bytes += int64(it.bytes)
	k.u.memory.Add(int64(it.bytes))
}

// itemOverhead is about what an object takes besides its JSON and its cells.
const itemOverhead = 500
