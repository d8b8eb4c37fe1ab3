package ui

import (
	"context"
	"errors"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/watch"
)

// restore reads what earlier runs kept, as if it was seen again at its time.
func (u *UI) restore(ctx context.Context) {
	types := map[*kind]bool{}
	for e, err := range u.dir.Entries() {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			u.setDamage(printable.Line(err.Error()))
			continue
		}
		k := u.recordedKind(e.Resource)
		types[k] = true
		k.restore(e)
	}
	for k := range types {
		k.mu.Lock()
		k.replayed, k.before = 0, errNotRun
		k.change(stateStale, earlierRun)
		k.mu.Unlock()
	}
}

// earlierRun is the reason of what the history on disk has.
const earlierRun = "this is of an earlier run, until it is listed"

var errNotRun = errors.New(reasonNotRun)

// setDamage notes the last segment that could not be read.
func (u *UI) setDamage(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.damage = text
}

// restore takes an entry.
func (k *kind) restore(e archive.Entry) {
	var p parsed
	if st := e.State; st != nil {
		raw, err := codec.ParseRawFull(e.JSON)
		if err == nil {
			p, err = k.parse(raw)
		}
		if err != nil {
			k.undecodable++ // its checksum holds: it was so when it was written
			return
		}
		p.by, p.item.cells = st.By, st.Cells
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.replayed = e.At
	if k.since == 0 {
		k.since, k.restored = e.At, true
	}
	switch {
	case e.Begin != nil:
		k.apply(watch.Event[*item]{Type: watch.Restart}, parsed{})
		k.restart(errors.New(e.Begin.Reason))
	case e.Ready:
		k.apply(watch.Event[*item]{Type: watch.Synced}, parsed{})
		k.synced()
	case e.State != nil:
		ev := watch.Event[*item]{Type: watch.Type(e.State.Op), Key: p.item.key, UID: p.item.uid, Revision: kube.Revision(e.State.Revision), Object: p.item}
		if e.State.First {
			ev.Type = watch.Added
		}
		p.inferred = e.State.Inferred
		k.apply(ev, p)
	case e.Columns != nil:
		k.columns = nil
		for _, c := range e.Columns {
			k.columns = append(k.columns, column(c))
		}
	case e.Gap != nil:
		g := gaps.Gap{Type: k.id, From: e.Gap.From, To: e.Gap.To, Reason: e.Gap.Reason, Idle: e.Gap.Idle, Added: e.Gap.Added, Modified: e.Gap.Modified, Deleted: e.Gap.Deleted}
		k.addGap(g)
	}
	k.heard, k.complete = e.At, e.At
}

// apply changes the store, and records what that changes. Holds k.mu.
func (k *kind) apply(ev watch.Event[*item], p parsed) {
	for _, d := range k.store.Apply(ev) {
		d.Inferred = d.Inferred || p.inferred
		k.record(d, p)
	}
}
