package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/load"
)

// What a life must have told, from the writes alone. The load has one worker, so
// that a state is a position: the number of writes before it.
//
// The snapshot is the state at one position, at its revision, and no later than
// what was acknowledged before the end of the life that saved it. A warm start
// tells just that state as Initial. Then, where the server has the history, come
// the writes from that position on, each once and in order, to the last before
// the end; where it has not, the differences to a later position, each once, as
// Inferred, and then the writes from there. A cold start tells the state that is.
//
// So each deletion of what an earlier life was told is told, with two exceptions
// that the test must name: nobody can tell a cold start, and nobody an object that
// the snapshot does not hold, being younger, while history has expired.

func uidOf(version string) string {
	uid, _, _ := strings.Cut(version, "@")
	return uid
}

// audit checks a snapshot before a life begins with it.
func (h *lives) audit(s *snapshot) {
	h.Helper()
	writes := h.ledger.written()
	rev := parse(h.T, s.revision)
	at := slices.DeleteFunc(positions(writes, 0, s.state), func(p int) bool {
		for i, w := range writes {
			if w.RV != "" && (parse(h.T, w.RV) <= rev) != (i < p) {
				return true
			}
		}
		return false
	})
	if len(at) == 0 {
		h.Fatalf("the snapshot at %s holds what was never there:\n%s", s.revision, h.nearest(s.state))
	}
	s.position = at[0]
	if s.position > h.acknowledged {
		h.Errorf("the snapshot holds %d writes, and only %d were acknowledged", s.position, h.acknowledged)
	}
	if s.position < h.saved {
		h.Errorf("the snapshot holds %d writes, an earlier one held %d", s.position, h.saved)
	}
	h.saved = s.position
}

// nearest describes the difference to the state in the past that differs least.
func (h *lives) nearest(s state) string {
	writes := h.ledger.written()
	now, best, at := state{}, state{}, -1
	for i := range len(writes) + 1 {
		if at < 0 || now.distance(s) < best.distance(s) {
			best, at = maps.Clone(now), i
		}
		if i < len(writes) {
			now.write(writes[i])
		}
	}
	return fmt.Sprintf("after %d writes (-written +got):\n%s", at, cmp.Diff(best, s))
}

// check holds what a life told, from its start to its end, against the writes.
func (l *life) check() {
	l.Helper()
	writes := l.ledger.written()
	rest, at := l.checkBeginning(writes)
	s := state{}
	if at != nil {
		for _, w := range writes[:at[0]] {
			s.write(w)
		}
	}
	for len(rest) > 0 && at != nil {
		switch e := rest[0]; {
		case e.Mark == "" && !e.Inferred:
			at = l.checkLive(writes, at, s, e)
			rest = rest[1:]
		case e.lists() || e.Inferred:
			n := slices.IndexFunc(rest, func(e entry) bool { return !(e.Inferred || e.Mark != "") })
			if n < 0 {
				n = len(rest)
			}
			at = l.checkRelist(writes, at, s, rest[:n])
			rest = rest[n:]
		default:
			rest = rest[1:]
		}
	}
	if at != nil {
		l.acknowledged = max(l.acknowledged, at[len(at)-1])
	}
	lists := l.lists()
	if want := l.from != served || l.restarted; want != (lists > 0) && !l.cut {
		l.Errorf("life %d: %d requests for the collection, want any: %t", l.number, lists, want)
	}
}

// checkBeginning checks the Initial lines and returns what follows, and where
// the life then is; nil if it never got that far.
func (l *life) checkBeginning(writes []load.Write) (rest []entry, at []int) {
	l.Helper()
	want := state{}
	for _, w := range writes[:l.at] {
		want.write(w)
	}
	at = []int{l.at}
	if l.snapshot != nil {
		want, at = l.snapshot.state, []int{l.snapshot.position}
	}
	told := state{}
	rest = l.entries
	for len(rest) > 0 {
		e := rest[0]
		if e.Mark == "" && !e.Initial || l.snapshot != nil && e.Mark == "requested" {
			break
		}
		rest = rest[1:]
		if e.Mark != "" {
			continue
		}
		if _, known := told[e.key()]; known || e.Type != "ADDED" || e.Inferred || e.Old != "" {
			l.Errorf("life %d: the beginning tells %+v, known: %t", l.number, e, known)
		}
		told[e.key()] = e.UID + "@" + e.RV
	}
	if l.cut {
		for key, version := range told {
			if want[key] != version {
				l.Errorf("life %d: the beginning tells %s %s, want %q", l.number, key, version, want[key])
			}
		}
		if len(told) >= len(want) {
			l.Errorf("life %d: it told all %d, and should have ended before", l.number, len(told))
		}
		return nil, nil
	}
	if diff := cmp.Diff(want, told); diff != "" {
		l.Fatalf("life %d: its %s beginning (-want +told):\n%s", l.number, l.from, diff)
	}
	return rest, at
}

// follow applies a delta, which must follow from s.
func (l *life) follow(s state, e entry) {
	l.Helper()
	old, known := s[e.key()]
	switch {
	case e.Type == "ADDED" && !known && e.Old == "":
	case (e.Type == "MODIFIED" || e.Type == "DELETED") && known && old == e.UID+"@"+e.Old:
	default:
		l.Errorf("life %d: %+v, where it had told %q", l.number, e, old)
	}
	if e.Initial {
		l.Errorf("life %d: %+v after its beginning", l.number, e)
	}
	if s[e.key()] = e.UID + "@" + e.RV; e.Type == "DELETED" {
		delete(s, e.key())
	}
}

// checkLive checks that a line is the next write.
func (l *life) checkLive(writes []load.Write, at []int, s state, e entry) []int {
	l.Helper()
	var next []int
	for _, p := range at {
		if p < len(writes) && l.tells(e, writes, p) {
			next = append(next, p+1)
		}
	}
	if next == nil {
		l.Errorf("life %d: after %d of %d writes it tells %+v, which is not the next: %+v",
			l.number, at[0], len(writes), e, writes[at[0]:min(at[0]+2, len(writes))])
	}
	l.follow(s, e)
	return next
}

// tells reports whether e tells of the write at p. A delete's version is not
// known, but what is between.
func (l *life) tells(e entry, writes []load.Write, p int) bool {
	w := writes[p]
	types := map[load.Op]string{load.Created: "ADDED", load.Updated: "MODIFIED", load.Deleted: "DELETED"}
	if e.Type != types[w.Op] || e.key() != w.Namespace+"/"+w.Name || e.UID != w.UID || e.Old != w.After {
		return false
	}
	if w.Op != load.Deleted {
		return e.RV == w.RV
	}
	known := func(w load.Write) bool { return w.RV != "" }
	rv := parse(l.T, e.RV)
	if rv <= parse(l.T, w.After) {
		return false
	}
	for _, before := range slices.Backward(writes[:p]) {
		if known(before) {
			if rv <= parse(l.T, before.RV) {
				return false
			}
			break
		}
	}
	after := slices.IndexFunc(writes[p:], known)
	return after < 0 || rv < parse(l.T, writes[p+after].RV)
}

// checkRelist checks that lines are the differences to a later position. They
// may be a part of them if the life ended meanwhile.
func (l *life) checkRelist(writes []load.Write, at []int, s state, lines []entry) []int {
	l.Helper()
	before, n := maps.Clone(s), 0
	for _, e := range lines {
		if e.Mark == "" {
			l.follow(s, e)
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
		if i >= at[0] && last && n+s.distance(now) == before.distance(now) {
			return nil
		}
	}
	l.Errorf("life %d: a relist leads to what was never there: %s", l.number, l.nearest(s))
	return nil
}

// lost checks which objects were told and are gone without a word, and forgets
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
		h.Errorf("told, gone, and no deletion told (-want +got):\n%s", diff)
	}
}

func (s *snapshot) String() string {
	return strconv.Itoa(len(s.state)) + " objects after " + strconv.Itoa(s.position) + " writes"
}
