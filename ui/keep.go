package ui

import (
	"slices"
	"time"

	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/printable"
)

// write has something written to the segment of the type, if it has one. Holds k.mu.
func (k *kind) write(add func(*archive.Segment) error) {
	if k.kept {
		k.kept = k.u.keeper.Add(k.id, add)
	}
}

// unkept ends the segment of the type. Holds k.mu.
func (k *kind) unkept() {
	if k.kept {
		k.kept = false
		k.u.keeper.End(k.id)
	}
}

// lost: the segment of a type was given up.
func (u *UI) lost(id string) {
	if k := u.kind(id); k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.kept = false
	}
}

// unkeepable returns why nothing is written to the disk now; "" = it is.
func (u *UI) unkeepable() string {
	if u.keeper == nil {
		return ""
	}
	f := u.keeper.Failure()
	if f.Err == nil || now() >= f.Until.UnixMilli() {
		return ""
	}
	return printable.Cut(printable.Line(f.Err.Error()), 500)
}

// recovered is how long after the next attempt there was no failure where the disk works again.
const recovered = 30 * time.Second

// reportKeeping calls HistoryFailed where the disk begins to fail, or works again.
func (u *UI) reportKeeping() {
	f := u.keeper.Failure()
	failing := f.Err != nil && time.Since(f.Until) < recovered
	if failing == u.unkept || u.o.HistoryFailed == nil {
		return
	}
	if u.unkept = failing; !failing {
		f.Err = nil
	}
	u.o.HistoryFailed(f.Err)
}

// keepAll begins a segment with all objects, if the type is kept and has none. Holds k.mu.
func (k *kind) keepAll() {
	if k.u.keeper == nil || k.kept || !k.always || k.secret() || !k.store.Synced() || k.missed != nil || k.state != stateLive || k.u.unkeepable() != "" {
		return
	}
	var states []archive.State
	for _, i := range k.store.All() {
		if st, packed := k.u.history.Packed(&i.past); !packed.IsZero() {
			states = append(states, archive.State{At: st.At, Op: st.Op.String(), Key: i.key, UID: i.uid, Revision: i.revision, By: st.By, Cells: i.cells, Inferred: st.Inferred, Object: packed})
		}
	}
	reason := reasonNotRun
	if f := k.u.keeper.Failure(); f.Err != nil {
		reason = "it was not written: " + printable.Line(f.Err.Error())
	}
	cols, at, res := k.columns, k.u.now(), k.res.Resource
	k.kept = k.u.keeper.Begin(k.id, func(d *archive.Dir) (*archive.Segment, error) {
		return d.Begin(res, cols, at, reason, slices.Values(states))
	})
}

// reasonNotRun is why the time before a segment is not known.
const reasonNotRun = "this program did not run, or did not watch it"

// mark notes until when there was no other change. Holds k.mu.
func (k *kind) mark() {
	if at := k.heard; k.kept && k.state == stateLive && at > k.marked {
		k.marked = at
		k.write(func(s *archive.Segment) error { return s.Mark(at) })
	}
}
