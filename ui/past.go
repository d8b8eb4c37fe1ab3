package ui

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// maxEvents is how many Events of an object are shown.
const maxEvents = 200

// getEvents returns the Events about an object, the newest first. Those that have expired
// are among them as long as they are kept.
func (u *UI) getEvents(s *session, r *http.Request) (any, error) {
	var at int64
	sub, err := u.subject(r.Context(), s, r.URL.Query())
	if err = cmp.Or(err, number(r.URL.Query(), "at", &at)); err != nil {
		return nil, err
	}
	out := map[string]any{"events": []*describe.Event{}, "state": stateGone, "reason": "the server does not serve Events"}
	k := u.kind("events")
	if k == nil {
		return out, nil
	}
	sees, err := s.sees(r.Context(), k, s.about(u, sub))
	if err != nil {
		return nil, err
	}
	var about []*item
	k.mu.Lock()
	k.start()
	if out["state"], out["reason"] = k.state, k.reason; at > 0 && k.since > at {
		out["state"], out["reason"] = stateIdle, "Events were not watched at this moment"
	}
	seen := k.items(at)
	if at == 0 {
		seen = k.ever()
	}
	for i := range seen {
		if ns := i.key.Namespace; ns == sub.life.key.Namespace || sub.life.key.Namespace == "" {
			if sees == nil || sees(ns) {
				about = append(about, i)
			}
		}
	}
	k.mu.Unlock()
	slices.SortFunc(about, func(a, b *item) int { return cmp.Compare(b.pos, a.pos) }) // of one second, as they arrived
	list, name := []*describe.Event{}, strings.ToLower(sub.life.key.Name)             // which a cell of an Event about it has
	for _, i := range about {
		if !strings.Contains(i.text(), name) {
			continue
		}
		text, err := u.history.JSON(&i.past, i.pos)
		if err != nil {
			continue // it has changed since
		}
		if e, ok := describe.EventOf(text, sub.name, sub.life.key.Name, sub.life.uid); ok {
			e.Gone, e.At = i.gone, describe.Within(e.At, i.changed)
			list = append(list, &e)
		}
	}
	slices.SortStableFunc(list, func(a, b *describe.Event) int { return cmp.Compare(b.At, a.At) })
	out["events"] = list[:min(len(list), maxEvents)]
	return out, nil
}

// at returns the states of the objects of a type at a time. The caller holds k.mu.
func (k *kind) at(ms int64) []*item {
	var list []*item
	for _, newest := range k.lives {
		for l := range newest.all() {
			st, ok := k.u.history.At(&l.past, ms)
			if !ok || st.Op == history.Deleted {
				continue
			}
			i := &item{life: l, revision: st.Revision, cells: st.Cells, pos: st.Pos}
			if last := k.last(l); last != nil {
				i.labels, i.refs = last.labels, last.refs
			}
			if !st.First { // when it changed before it was listed is not known
				i.changed, i.op = st.At, st.Op
			}
			list = append(list, i)
		}
	}
	return list
}

// last returns the last state of an object: a moment has the labels and the owners of it.
func (k *kind) last(l *life) *item {
	if i, ok := k.store.Get(l.key); ok && i.life == l {
		return i
	}
	return l.last
}

// items yields the objects of a type as they are, or at a time that is not 0. The caller
// holds k.mu.
func (k *kind) items(at int64) iter.Seq[*item] {
	if at > 0 {
		return slices.Values(k.at(at))
	}
	return func(yield func(*item) bool) {
		for _, i := range k.store.All() {
			if !yield(i) {
				return
			}
		}
	}
}

// ever yields the objects of a type, and those that are gone and kept. The caller holds k.mu.
func (k *kind) ever() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, newest := range k.lives {
			for l := range newest.all() {
				if i := k.last(l); i != nil && !yield(i) {
					return
				}
			}
		}
	}
}

// rewind returns the window of a view at the time that its query names. Holds k.mu.
func (v *view) rewind() wireWindow {
	k, at := v.kind, v.query.At
	items := k.at(at)
	v.built, v.rows, v.dirty = true, nil, map[int64]touched{}
	total := 0
	for _, i := range items {
		if v.sees == nil || v.sees(i.key.Namespace) {
			total++
		}
		if v.selects(i) {
			v.rows = append(v.rows, i)
		}
	}
	slices.SortFunc(v.rows, v.order)
	v.matched = len(v.rows)
	w := v.full()
	w.Total, w.At = total, at
	w.Approximate = k.unknown(at)
	return w
}

// unknown reports whether nobody knows which objects there were at a time. Holds k.mu.
func (k *kind) unknown(at int64) bool { return k.since == 0 || at < max(k.since, k.u.history.Since()) }

// postMoment opens a moment as a cluster.
func (u *UI) postMoment(s *session, r *http.Request) (any, error) {
	if u.o.OpenMoment == nil || s.person != nil {
		return nil, refusal.NotFound("moments cannot be opened here")
	}
	var in struct{ At int64 }
	if err := body(r, &in); err != nil {
		return nil, err
	}
	in.At = cmp.Or(in.At, u.now())
	var objects []Object
	size := 0
	for _, k := range u.types() {
		k.mu.Lock()
		items, res, unknown := k.at(in.At), k.res.Resource, k.unknown(in.At)
		k.mu.Unlock()
		if unknown {
			continue
		}
		objects = append(objects, Object{Resource: res})
		for _, i := range items {
			text, err := u.history.JSON(&i.past, i.pos)
			if err != nil {
				continue // dropped meanwhile
			}
			if size += len(text); size > maxMoment {
				return nil, &refusal.Error{Code: http.StatusRequestEntityTooLarge, Reason: "large", Text: "this moment has more than " + megabytes(maxMoment) + " of objects"}
			}
			objects = append(objects, Object{res, []byte(text)})
		}
	}
	return u.o.OpenMoment(r.Context(), time.UnixMilli(in.At), objects)
}

// maxMoment limits the objects of a moment that is opened, in bytes.
const maxMoment = 256 << 20
