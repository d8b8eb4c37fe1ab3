package library_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// What a life must begin with.
//
// A snapshot is exactly what the life that saved it had delivered at one moment, at a
// revision of that moment. The journal is exactly what was delivered as ADDED since, by
// that life and all later ones; but for one more at most, which the last of them
// had noted and not yet delivered when it was killed.
//
// Of both together, the journal's namesake with another UID taking the place of an
// older one, a life begins with: those whose place was taken, as ADDED Initial and
// DELETED Inferred, in that order; then the others as ADDED Initial.

// delivery is an object as it was delivered.
type delivery struct{ Key, Version string }

// moment is one at which a life may save.
type moment struct {
	state state
	at    []int // positions
	added int   // objects delivered as ADDED before it
}

// noted is what a life that has ended may have noted in its journal and not delivered.
type noted struct {
	possible bool
	any      bool       // it was listing: it may be any object
	these    []delivery // otherwise
	must     bool       // it was killed just then
}

func (n noted) permits(o delivery, writes []load.Write) bool {
	written := func(w load.Write) bool {
		return w.Op != load.Deleted && o == delivery{w.Namespace + "/" + w.Name, w.UID + "@" + w.RV}
	}
	return n.possible && (slices.Contains(n.these, o) || n.any && slices.ContainsFunc(writes, written))
}

// moment notes that the life may save now.
func (l *life) moment(s state, at []int) {
	l.moments = append(l.moments, moment{maps.Clone(s), at, len(l.added)})
}

// restored returns what a snapshot and a journal come to.
func restored(snapshot state, journal []delivery) (s state, replaced []delivery) {
	s = state{}
	maps.Copy(s, snapshot)
	for _, o := range journal {
		old, known := s[o.Key]
		if known && uidOf(old) == uidOf(o.Version) {
			continue
		}
		if known {
			replaced = append(replaced, delivery{o.Key, old})
		}
		s[o.Key] = o.Version
	}
	return s, replaced
}

// account checks the last life, once, and what it has left on the disk.
func (h *lives) account() *snapshot {
	h.Helper()
	h.must(h.ledger.left(0))
	l := h.now
	if l == nil || l.checked {
		return h.snapshot
	}
	if !l.waited {
		h.Fatal("a life begins before the last has ended")
	}
	l.checked = true
	l.check()
	fi := h.stat()
	switch {
	case fi == nil || l.damaged:
		h.snapshot, h.journal = nil, append(h.journal, l.added...)
	case h.snapshot != nil && os.SameFile(h.snapshot.file, fi) && h.snapshot.file.ModTime().Equal(fi.ModTime()):
		h.journal = append(h.journal, l.added...)
	default:
		h.snapshot = h.read()
		h.snapshot.file = fi
		h.journal = l.added[l.audit(h.snapshot).added:]
	}
	if !l.stopped || l.damaged {
		return h.snapshot
	}
	left, err := filepath.Glob(h.path + ".journal-*")
	h.must(err)
	if len(left)+len(h.journal) > 0 || !maps.Equal(h.snapshot.state, l.moments[len(l.moments)-1].state) {
		h.Errorf("life %d was stopped and has not saved all: journals %q, additions %v, the snapshot (-delivered +saved):\n%s",
			l.number, left, h.journal, cmp.Diff(l.moments[len(l.moments)-1].state, h.snapshot.state))
	}
	return h.snapshot
}

// audit returns the moment of which the snapshot is that the life has left.
func (l *life) audit(s *snapshot) moment {
	l.Helper()
	writes, rev := l.ledger.written(), setup.Revision(l.T, s.revision)
	for _, m := range slices.Backward(l.moments) {
		if !maps.Equal(m.state, s.state) {
			continue
		}
		for _, from := range m.at {
			for p := from; p <= l.next(writes, from, m.state); p++ {
				if l.after(writes, p, rev) {
					if s.position = p; p < l.saved {
						l.Errorf("the snapshot holds %d writes, an earlier one held %d", p, l.saved)
					}
					l.saved = p
					return m
				}
			}
		}
	}
	l.Fatalf("the snapshot at %s holds what life %d never had delivered:\n%s", s.revision, l.number, l.nearest(s.state))
	return moment{}
}

// after reports whether rev may be that of the server after p writes.
func (l *life) after(writes []load.Write, p int, rev int64) bool {
	for i, w := range writes {
		if w.RV != "" && (setup.Revision(l.T, w.RV) <= rev) != (i < p) {
			return false
		}
	}
	return true
}

// nearest describes the difference to the moment that differs least.
func (l *life) nearest(s state) string {
	if len(l.moments) == 0 {
		return "it had no moment to save"
	}
	best := slices.MinFunc(l.moments, func(a, b moment) int { return a.state.distance(s) - b.state.distance(s) })
	return fmt.Sprintf("after %v writes (-delivered +saved):\n%s", best.at, cmp.Diff(best.state, s))
}

// checkBeginning checks what a life delivered before it asked the server, and returns
// what follows and the state that was delivered; nil if it was cut off before its end.
func (l *life) checkBeginning() (rest []entry, s state) {
	l.Helper()
	end := slices.IndexFunc(l.entries, func(e entry) bool { return e.Mark == "requested" })
	cut := end < 0 && l.cut
	if end < 0 {
		end = len(l.entries)
	}
	lines := slices.DeleteFunc(slices.Clone(l.entries[:end]), func(e entry) bool { return e.Mark != "" })
	var replaced []delivery
	s = state{}
	for _, e := range lines {
		old, known := s[e.key()]
		switch {
		case e.first() && !known:
			s[e.key()] = e.UID + "@" + e.RV
		case e.Type == "DELETED" && e.Inferred && !e.Initial && known && old == e.UID+"@"+e.Old:
			delete(s, e.key()) // the journal has another object of the name
			replaced = append(replaced, delivery{e.key(), old})
		default:
			l.Errorf("life %d: the beginning delivers %+v, known: %t", l.number, e, known)
		}
	}
	var saved state
	if l.snapshot != nil {
		saved = l.snapshot.state
	}
	want, gone := restored(saved, l.journal)
	if cut {
		for _, o := range gone { // those that the journal was still to replace
			if s[o.Key] == o.Version {
				delete(s, o.Key)
			}
		}
	}
	if more := l.undelivered(want, s); len(more) == 1 && l.noted.permits(more[0], l.ledger.written()) {
		l.lives.journal = append(l.lives.journal, more[0])
		want, gone = restored(saved, l.journal)
		l.lives.noted = noted{}
		l.lives.announced++
	} else if l.noted.must && !cut {
		l.Errorf("life %d: what the last one had noted and not delivered is missing: %v", l.number, l.noted.these)
	}
	if cut {
		l.checkCut(want, gone, s, replaced)
		return nil, nil
	}
	l.lives.noted = noted{}
	l.lives.replaced += len(gone)
	if diff := cmp.Diff(gone, replaced) + cmp.Diff(want, s); diff != "" {
		l.Fatalf("life %d: its %s beginning (-want +delivery):\n%s", l.number, l.from, diff)
	}
	return l.entries[end:], s
}

// undelivered returns the objects of s that want has not.
func (l *life) undelivered(want, s state) (more []delivery) {
	for key, version := range s {
		if want[key] != version {
			more = append(more, delivery{key, version})
		}
	}
	return more
}

// checkCut checks a part of a beginning.
func (l *life) checkCut(want state, gone []delivery, s state, replaced []delivery) {
	l.Helper()
	if more := l.undelivered(want, s); len(more) > 0 {
		l.Errorf("life %d: the beginning delivers %v", l.number, more)
	}
	if n := len(replaced); n > len(gone) || !slices.Equal(replaced, gone[:n]) {
		l.Errorf("life %d: the beginning delivers the ends of %v, want %v", l.number, replaced, gone)
	}
	if len(s) >= len(want) {
		l.Errorf("life %d: it delivered all %d, and should have ended before", l.number, len(s))
	}
}
