package program_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// account holds the output about one resource against the writes to it.
type account struct {
	resource string
	records  []record // of the resource
	writes   []load.Write
	final    map[load.Ref]load.Version

	relists                   []relist
	disconnected, reconnected int
	live, synthetic           int // events by how they were learnt

	errors []string // of the output, found by judge
}

// relist is a span without history: what happened above from, up to to, is known
// only as far as it left a difference.
type relist struct {
	from, to    int64
	first, last int // records
}

func newAccount(records []record, resource string, written *load.Record) *account {
	a := &account{resource: resource, final: written.FinalOf(resource)}
	for _, r := range records {
		if r.Resource == resource {
			a.records = append(a.records, r)
		}
	}
	for _, w := range written.Writes {
		if w.Resource == resource {
			a.writes = append(a.writes, w)
		}
	}
	return a
}

func (a *account) String() string {
	return fmt.Sprintf("%d writes, %d events and %d by relist, %d disconnects, %d relists",
		len(a.writes), a.live, a.synthetic, a.disconnected, len(a.relists))
}

// isLoad reports whether an object is one of the load's: the apiserver writes a
// few of its own.
func isLoad(r *record) bool { return strings.HasPrefix(r.Namespace, "load-") }

// check fails the test for each error of the output.
func (a *account) check(t *testing.T) {
	t.Helper()
	for _, e := range a.judge(t) {
		t.Error(e)
	}
}

// judge returns the errors of the output.
func (a *account) judge(t *testing.T) []string {
	t.Helper()
	a.findRelists(t)
	a.checkOrder(t)
	a.checkLives(t)
	a.checkWrites(t)
	a.checkFinal()
	return a.errors
}

func (a *account) errorf(format string, args ...any) {
	a.errors = append(a.errors, fmt.Sprintf(format, args...))
}

// checkSequence: every line has the next number.
func checkSequence(t *testing.T, records []record) {
	t.Helper()
	for i, r := range records {
		if r.V != 1 || r.Seq != int64(i+1) {
			t.Fatalf("line %d has v %d, seq %d", i+1, r.V, r.Seq)
		}
	}
}

// findRelists finds the spans, each of which must begin with a watch that the
// server refused as expired. Connections must break and mend in turns.
func (a *account) findRelists(t *testing.T) {
	t.Helper()
	open, expired := false, -1
	for i := range a.records {
		r := &a.records[i]
		switch r.Type {
		case "SYNCED":
			if i > 0 && a.count("SYNCED", i) > 0 {
				a.errorf("seq %d: a second SYNCED", r.Seq)
			}
			open = true
		case "DISCONNECTED":
			if !open {
				a.errorf("seq %d: DISCONNECTED while disconnected", r.Seq)
			}
			open = false
			a.disconnected++
			// The server's words, from k8s.io/apiserver: 410 has no others.
			if expired < 0 && strings.Contains(r.Cause, "too old resource version") {
				expired = i
			}
		case "RECONNECTED":
			if open {
				a.errorf("seq %d: RECONNECTED while connected", r.Seq)
			}
			open = true
			a.reconnected++
		case "RELISTED":
			if expired < 0 {
				a.errorf("seq %d: RELISTED (%s) without a 410", r.Seq, r.Cause)
				continue
			}
			if !strings.Contains(r.Cause, "410") {
				a.errorf("seq %d: RELISTED with cause %q, want the 410", r.Seq, r.Cause)
			}
			a.relists = append(a.relists, relist{setup.Revision(t, a.records[expired].RV), setup.Revision(t, r.RV), expired, i})
			a.checkCounts(expired, i)
			expired = -1
		}
	}
	if expired >= 0 {
		a.errorf("%s: a 410 was followed by no RELISTED", a.resource)
	}
}

func (a *account) count(recordType string, before int) int {
	n := 0
	for _, r := range a.records[:before] {
		if r.Type == recordType {
			n++
		}
	}
	return n
}

// checkCounts: a RELISTED record counts the records of its relist.
func (a *account) checkCounts(first, last int) {
	type counts struct{ Added, Modified, Deleted int }
	var printed counts
	for _, r := range a.records[first:last] {
		switch r.Type {
		case "ADDED":
			printed.Added++
		case "MODIFIED":
			printed.Modified++
		case "DELETED":
			printed.Deleted++
		}
	}
	end := &a.records[last]
	if diff := cmp.Diff(printed, counts{end.Added, end.Modified, end.Deleted}); diff != "" {
		a.errorf("%s seq %d: the counts of RELISTED (-records +counts):\n%s", a.resource, end.Seq, diff)
	}
}

// inRelist reports whether a record stands between a 410 and its RELISTED.
func (a *account) inRelist(i int) bool {
	return slices.ContainsFunc(a.relists, func(l relist) bool { return l.first < i && i < l.last })
}

// inGap reports whether a version is of a time without history.
func (a *account) inGap(rv int64) bool {
	return slices.ContainsFunc(a.relists, func(l relist) bool { return l.from < rv && rv <= l.to })
}

// isHidden reports whether the version rv, which the one at next replaced, is older
// than the list of a relist that did not show it.
func (a *account) isHidden(rv, next int64) bool {
	return slices.ContainsFunc(a.relists, func(l relist) bool { return l.from < rv && rv < next && next <= l.to })
}

// checkOrder: outside relists, events come once and in the order of the server's
// writes, and none is synthetic.
func (a *account) checkOrder(t *testing.T) {
	t.Helper()
	last := int64(0)
	for i := range a.records {
		r := &a.records[i]
		if r.Type == "RELISTED" || r.Type == "SYNCED" {
			last = setup.Revision(t, r.RV)
		}
		if !r.isObject() {
			continue
		}
		m := r.Object.Metadata
		if m.Namespace != r.Namespace || m.Name != r.Name || m.UID != r.UID {
			a.errorf("seq %d: the line is about %v %s, its object is %+v", r.Seq, r.ref(), r.UID, m)
		}
		if r.Synthetic != "" {
			a.synthetic++
			if !a.inRelist(i) {
				a.errorf("seq %d: a synthetic %s of %v outside of any relist", r.Seq, r.Type, r.ref())
			}
			continue
		}
		if r.Initial {
			continue
		}
		a.live++
		if m.ResourceVersion != r.RV {
			a.errorf("seq %d: rv %s, the object has %s", r.Seq, r.RV, m.ResourceVersion)
		}
		if rv := setup.Revision(t, r.RV); rv <= last {
			a.errorf("seq %d: %s of %v at %d after %d: repeated or out of order", r.Seq, r.Type, r.ref(), rv, last)
		} else {
			last = rv
		}
	}
}

// checkLives: an object is added, changed any number of times, deleted at most
// once, and then never heard of; under one name one object lives at a time.
func (a *account) checkLives(t *testing.T) {
	t.Helper()
	type life struct {
		rv   int64
		over bool
	}
	lives := make(map[string]*life)
	named := make(map[load.Ref]string)
	for i := range a.records {
		r := &a.records[i]
		if !r.isObject() {
			continue
		}
		l, known := lives[r.UID], lives[r.UID] != nil
		if known == (r.Type == "ADDED") {
			a.errorf("seq %d: %s of %v %s, known before: %t", r.Seq, r.Type, r.ref(), r.UID, known)
		}
		if !known {
			l = new(life)
			lives[r.UID] = l
		}
		rv := setup.Revision(t, r.RV)
		if l.over || rv <= l.rv {
			a.errorf("seq %d: %s of %v %s at %d; it was at %d, deleted: %t", r.Seq, r.Type, r.ref(), r.UID, rv, l.rv, l.over)
		}
		if other := named[r.ref()]; other != "" && other != r.UID {
			a.errorf("seq %d: %s of %v %s while %s lives", r.Seq, r.Type, r.ref(), r.UID, other)
		}
		l.rv, l.over, named[r.ref()] = rv, r.Type == "DELETED", r.UID
		if l.over {
			named[r.ref()] = ""
		}
	}
}

// shown is what the records show of the load's objects.
type shown struct {
	states  map[load.Version]*record
	born    map[string]bool    // UIDs
	marks   map[string]*record // by UID: the state that a pod's delete makes before the end
	deleted map[string]*record // by UID
}

func (a *account) shown() shown {
	s := shown{make(map[load.Version]*record), make(map[string]bool), make(map[string]*record), make(map[string]*record)}
	for i := range a.records {
		r := &a.records[i]
		switch {
		case !r.isObject() || !isLoad(r):
		case r.Type == "DELETED":
			s.deleted[r.UID] = r
		default:
			s.states[r.version()] = r
			s.born[r.UID] = true
			if r.Object.Metadata.DeletionTimestamp != "" && s.marks[r.UID] == nil {
				s.marks[r.UID] = r
			}
		}
	}
	return s
}

// end returns the version that replaced what the delete w found: the mark, if one was
// shown, or else the deletion. Where nobody knows that, it returns the earliest that is
// possible.
func (s *shown) end(t *testing.T, w load.Write) int64 {
	t.Helper()
	deleted := s.deleted[w.UID]
	switch {
	case s.marks[w.UID] != nil:
		return setup.Revision(t, s.marks[w.UID].RV)
	case w.RV != "":
		return setup.Revision(t, w.RV)
	case deleted != nil:
		return setup.Revision(t, deleted.RV)
	}
	return setup.Revision(t, w.After) + 1
}

// checkWrites: outside gaps each write has its event, of its type; in a gap, each but
// those that a later one hides. What was deleted has DELETED, unless nobody could know
// that it ever was. There are no events that nobody caused.
func (a *account) checkWrites(t *testing.T) {
	t.Helper()
	types := map[load.Op]string{load.Created: "ADDED", load.Updated: "MODIFIED"}
	s := a.shown()
	next := make(map[string]int64) // by UID: the version after, going backwards
	caused, buried := make(map[load.Version]bool), make(map[string]bool)
	for _, w := range slices.Backward(a.writes) {
		if w.Op == load.Deleted {
			next[w.UID], buried[w.UID] = s.end(t, w), true
			end := s.deleted[w.UID]
			switch {
			case end == nil && (s.born[w.UID] || !a.inGap(setup.Revision(t, w.After))):
				a.errorf("%s: no DELETED of %+v%s", a.resource, w, a.history(w.UID))
			case end != nil && end.Synthetic == "" && w.RV != "" && w.RV != end.RV:
				a.errorf("%s: DELETED at %s of %+v", a.resource, end.RV, w)
			}
			continue
		}
		v, rv := load.Version{UID: w.UID, RV: w.RV}, setup.Revision(t, w.RV)
		caused[v] = true
		switch r := s.states[v]; {
		case r == nil && !a.isHidden(rv, next[w.UID]):
			a.errorf("%s: no event of %+v%s", a.resource, w, a.history(w.UID))
		case r != nil && r.Type != types[w.Op] && !a.inGap(rv): // in a gap, see checkLives
			a.errorf("%s: %s of %+v", a.resource, r.Type, w)
		}
		next[w.UID] = rv
	}
	for v, r := range s.states {
		// A relist may show a pod for the first time when it is marked.
		marked := r.Object.Metadata.DeletionTimestamp != "" && buried[v.UID] && (r.Type == "MODIFIED" || r.Synthetic != "")
		if !caused[v] && !marked {
			a.errorf("seq %d: %s of %v %+v, which nobody wrote", r.Seq, r.Type, r.ref(), v)
		}
	}
	for uid, r := range s.deleted {
		if !buried[uid] {
			a.errorf("seq %d: DELETED of %v %s, which nobody deleted", r.Seq, r.ref(), uid)
		}
	}
}

// history returns what is known of an object, one line each.
func (a *account) history(uid string) string {
	var b strings.Builder
	for _, l := range a.relists {
		fmt.Fprintf(&b, "\n\trelist of (%d, %d]", l.from, l.to)
	}
	for _, w := range a.writes {
		if w.UID == uid {
			fmt.Fprintf(&b, "\n\t%s %q after %q", w.Op, w.RV, w.After)
		}
	}
	for _, r := range a.records {
		if r.UID == uid {
			fmt.Fprintf(&b, "\n\tseq %d: %s %s, synthetic %q, deletionTimestamp %q", r.Seq, r.Type, r.RV, r.Synthetic, r.Object.Metadata.DeletionTimestamp)
		}
	}
	return b.String()
}

// checkFinal: the events, folded, are what the load left behind.
func (a *account) checkFinal() {
	state := make(map[load.Ref]load.Version)
	for i := range a.records {
		r := &a.records[i]
		switch {
		case !r.isObject() || !isLoad(r):
		case r.Type == "DELETED":
			delete(state, r.ref())
		default:
			state[r.ref()] = r.version()
		}
	}
	if diff := cmp.Diff(a.final, state); diff != "" {
		a.errorf("%s: the state in the end (-written +printed):\n%s", a.resource, diff)
	}
}
