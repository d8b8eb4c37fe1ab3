package main

import (
	"time"

	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// debouncer lets what is added or modified wait, so that of changes of one object
// in a row only the last is told. It is a line: what comes behind waits too, and so
// a checkpoint is never told of more than what was printed. Where the line holds more
// than debounceHeld, its first is told at once: a server must not fill the memory.
type debouncer struct {
	wait   time.Duration
	held   int // bytes of line
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

// run moves records from in to out until in is closed; what waits then is told at
// once.
func (d *debouncer) run(in <-chan record.Record, out chan<- record.Record) {
	d.newest = map[record.Incarnation]*delayed{}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		for len(d.line) > 0 && (!d.line[0].due.After(now) || d.held > debounceHeld) {
			d.tell(out)
		}
		if len(d.line) > 0 {
			timer.Reset(d.line[0].due.Sub(now))
		}
		select {
		case r, ok := <-in:
			if !ok {
				for len(d.line) > 0 {
					d.tell(out)
				}
				return
			}
			if r.Mark == record.MarkSync { // of what was told; it overtakes what is not
				out <- r
				continue
			}
			r.Arrived()
			d.take(r)
		case <-timer.C:
		}
	}
}

func (d *debouncer) take(r record.Record) {
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
		w.due = r.Time.Add(d.wait)
		d.newest[key] = w
	}
	d.line = append(d.line, w)
}

// tell lets the first in line go.
func (d *debouncer) tell(out chan<- record.Record) {
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

// bytes is what w takes.
func (w *delayed) bytes() int { return delayedRecord + w.Size() }
