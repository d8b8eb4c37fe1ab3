package library_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// What a life must have delivered, from the writes alone. The load has one worker, so
// that a state is a position: the number of writes before it.
//
// A life begins with what informer_start_test.go says. Then, where it has a
// snapshot and the server has the history, come the writes from the snapshot's
// position on, each once and in order, to the last before the end; but for those
// that are older than what it has. Where the server has no history, or where there
// is no snapshot, come the differences to a later position, each once, and then
// the writes from there.
//
// So the end of each object that was delivered is delivered. There is one exception, which
// the test must name: nobody can deliver the end of what only a snapshot knew that
// was damaged since.

func uidOf(version string) string {
	uid, _, _ := strings.Cut(version, "@")
	return uid
}

// stale reports whether w changes nothing of s, which has something newer.
func (s state) stale(t *testing.T, w load.Write) bool {
	t.Helper()
	version, known := s[w.Namespace+"/"+w.Name]
	uid, rv, _ := strings.Cut(version, "@")
	if w.Op == load.Deleted {
		return !known || uid != w.UID
	}
	return known && setup.Revision(t, rv) >= setup.Revision(t, w.RV)
}

// next returns the position of the next write, from at on, that is news to s.
func (l *life) next(writes []load.Write, at int, s state) int {
	l.Helper()
	for at < len(writes) && s.stale(l.T, writes[at]) {
		at++
	}
	return at
}

// check holds what a life delivered, from its start to its end, against the writes.
func (l *life) check() {
	l.Helper()
	lists := l.lists()
	if want := l.from != served || l.restarted; want != (lists > 0) && !l.cut {
		l.Errorf("life %d: %d requests for the collection, want any: %t", l.number, lists, want)
	}
	rest, s := l.checkBeginning()
	if s == nil {
		return
	}
	writes := l.ledger.written()
	at, synced := []int{l.at}, false
	if l.snapshot != nil {
		at, synced = []int{l.snapshot.position}, true
		l.moment(s, at)
	}
	listing := !synced
	for len(rest) > 0 && at != nil {
		n := slices.IndexFunc(rest, entry.live)
		if listing = n != 0 && (rest[0].lists() || rest[0].Initial || rest[0].Inferred); listing {
			if n < 0 {
				n = len(rest)
			}
			if at = l.checkRelist(writes, at, s, rest[:n], synced); at != nil {
				synced = true
				l.moment(s, at)
			}
			rest = rest[n:]
			continue
		}
		if n == 0 {
			at = l.checkLive(writes, at, s, rest[0])
			l.moment(s, at)
		}
		rest = rest[1:]
	}
	if at != nil {
		l.acknowledged = max(l.acknowledged, l.next(writes, at[len(at)-1], s))
	}
	l.lives.noted = noted{possible: !l.stopped, any: at == nil || listing, must: l.noting}
	if !l.noted.any {
		for _, p := range at {
			if p = l.next(writes, p, s); p < len(writes) && writes[p].Op == load.Created {
				w := writes[p]
				l.lives.noted.these = append(l.lives.noted.these, delivery{w.Namespace + "/" + w.Name, w.UID + "@" + w.RV})
			}
		}
	}
}

// follow applies a delta, which must follow from s. It is of a list, of the first
// one or another, or of a watch.
func (l *life) follow(s state, e entry, listing, synced bool) {
	l.Helper()
	old, known := s[e.key()]
	switch {
	case e.Type == "ADDED" && !known && e.Old == "":
	case (e.Type == "MODIFIED" || e.Type == "DELETED") && known && old == e.UID+"@"+e.Old:
	default:
		l.Errorf("life %d: %+v, where it had delivered %q", l.number, e, old)
	}
	initial := listing && !synced && e.Type != "DELETED"
	if e.Initial != initial || e.Inferred != (listing && !initial) {
		l.Errorf("life %d: %+v, in a list: %t, after the first: %t", l.number, e, listing, synced)
	}
	switch s[e.key()] = e.UID + "@" + e.RV; e.Type {
	case "DELETED":
		delete(s, e.key())
	case "ADDED":
		l.added = append(l.added, delivery{e.key(), e.UID + "@" + e.RV})
	}
}

// checkLive checks that a line is the next write that is news.
func (l *life) checkLive(writes []load.Write, at []int, s state, e entry) []int {
	l.Helper()
	var next []int
	for _, p := range at {
		p = l.next(writes, p, s)
		if p < len(writes) && l.delivers(e, writes, p) && !slices.Contains(next, p+1) {
			next = append(next, p+1)
		}
	}
	if next == nil {
		l.Errorf("life %d: after %d of %d writes it delivers %+v, which is not the next: %+v",
			l.number, at[0], len(writes), e, writes[at[0]:min(at[0]+2, len(writes))])
	}
	l.follow(s, e, false, true)
	return next
}

// delivers reports whether e delivers the write at p. A delete's version is not
// known, but what is between.
func (l *life) delivers(e entry, writes []load.Write, p int) bool {
	w := writes[p]
	types := map[load.Op]string{load.Created: "ADDED", load.Updated: "MODIFIED", load.Deleted: "DELETED"}
	if e.Type != types[w.Op] || e.key() != w.Namespace+"/"+w.Name || e.UID != w.UID || e.Old != w.After {
		return false
	}
	if w.Op != load.Deleted {
		return e.RV == w.RV
	}
	known := func(w load.Write) bool { return w.RV != "" }
	rv := setup.Revision(l.T, e.RV)
	if rv <= setup.Revision(l.T, w.After) {
		return false
	}
	for _, before := range slices.Backward(writes[:p]) {
		if known(before) {
			if rv <= setup.Revision(l.T, before.RV) {
				return false
			}
			break
		}
	}
	after := slices.IndexFunc(writes[p:], known)
	return after < 0 || rv < setup.Revision(l.T, writes[p+after].RV)
}

// checkRelist checks that lines are the differences to a later position. They
// may be a part of them if the life ended meanwhile.
func (l *life) checkRelist(writes []load.Write, at []int, s state, lines []entry, synced bool) []int {
	l.Helper()
	before, n := maps.Clone(s), 0
	for _, e := range lines {
		if e.Mark == "" {
			l.follow(s, e, true, synced)
			n++
		}
	}
	if n != before.distance(s) {
		l.Errorf("life %d: a relist of %d deltas, for %d differences", l.number, n, before.distance(s))
	}
	if next := positions(writes, at[0], s); next != nil {
		return next
	}
	last := len(l.entries) > 0 && &lines[len(lines)-1] == &l.entries[len(l.entries)-1]
	now := state{}
	for i, w := range writes {
		now.write(w)
		if i+1 >= at[0] && last && n+s.distance(now) == before.distance(now) {
			return nil
		}
	}
	l.Errorf("life %d: a relist leads to what was never there: %s", l.number, l.nearest(s))
	return nil
}

// lost checks which objects were delivered and are gone without a word, and forgets
// them. Each is an exception that the caller can explain.
func (h *lives) lost(truth state, want []string) {
	h.Helper()
	here := map[string]bool{}
	for _, version := range truth {
		here[uidOf(version)] = true
	}
	var lost []string
	for uid := range h.known {
		if !here[uid] {
			lost = append(lost, uid)
			delete(h.known, uid)
		}
	}
	slices.Sort(lost)
	slices.Sort(want)
	if diff := cmp.Diff(want, lost); diff != "" {
		h.Errorf("delivered, gone, and no deletion delivered (-want +got):\n%s", diff)
	}
}
