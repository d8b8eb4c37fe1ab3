// Package debounce delivers only the last of several changes of an object in a short time.
package debounce

import (
	"time"

	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// Debouncer delays additions and modifications, so that only the last of several changes
// of an object is delivered. Records stay in order: those behind a delayed one wait too,
// so a checkpoint never contains more than what was printed. If the waiting records exceed
// debounceHeld, the first is delivered at once, to limit the memory.
type Debouncer struct {
	Wait   time.Duration
	See    func(*record.Record) bool // each record as it comes; true = it is the last one to deliver; may be nil
	held   int                       // bytes of line
	line   []*delayed
	newest map[record.Incarnation]*delayed // in line
}

const (
	debounceHeld  = 64 << 20 // bytes
	delayedRecord = 1 << 10  // bytes of a record in line, besides its objects
)

type delayed struct {
	record.Record
	due  time.Time
	gone bool // replaced by a deletion
}

// Run moves records from in to out until in is closed, then delivers the waiting ones at
// once.
func (d *Debouncer) Run(in <-chan record.Record, out chan<- record.Record) {
	d.newest = map[record.Incarnation]*delayed{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	over := false
	for {
		now := time.Now()
		for len(d.line) > 0 && (!d.line[0].due.After(now) || d.held > debounceHeld) {
			d.deliverFirst(out)
		}
		if len(d.line) > 0 {
			timer.Reset(d.line[0].due.Sub(now))
		}
		select {
		case r, ok := <-in:
			if !ok {
				for len(d.line) > 0 {
					d.deliverFirst(out)
				}
				return
			}
			if r.Mark == record.MarkSync { // concerns delivered records; it overtakes waiting ones
				out <- r
				continue
			}
			r.Arrived()
			if over && r.Say == nil {
				continue
			}
			over = over || d.See != nil && r.Mark == record.NoMark && r.Say == nil && d.See(&r)
			d.take(r)
		case <-timer.C:
		}
	}
}

func (d *Debouncer) take(r record.Record) {
	w := &delayed{Record: r} // due as soon as it is first
	d.held += w.bytes()
	if !r.IsObject() || r.Initial {
		d.line = append(d.line, w)
		return
	}
	key := r.Incarnation()
	before := d.newest[key]
	switch {
	case r.Type == string(watch.Deleted):
		if before != nil {
			before.gone = before.Type == string(watch.Modified)
			delete(d.newest, key)
		}
	case before != nil:
		d.held -= before.bytes() + w.bytes()
		r.Type, r.Old, r.Synthetic = before.Type, before.Old, before.Synthetic
		before.Record = r
		d.held += before.bytes()
		return
	default:
		w.due = r.Time.Add(d.Wait)
		d.newest[key] = w
	}
	d.line = append(d.line, w)
}

// deliverFirst delivers the first record in line, unless a deletion replaced it.
func (d *Debouncer) deliverFirst(out chan<- record.Record) {
	w := d.line[0]
	d.line[0] = nil
	d.line = d.line[1:]
	d.held -= w.bytes()
	if key := w.Incarnation(); d.newest[key] == w {
		delete(d.newest, key)
	}
	if !w.gone {
		out <- w.Record
	}
}

// bytes returns the memory of w.
func (w *delayed) bytes() int { return delayedRecord + w.Size() }
