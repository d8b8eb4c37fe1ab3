package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/internal/record"
)

// judge reads what runs of the program print, one after the other, as a reader
// does that keeps the last state of each object, and compares it with what the
// server did: between two lists each event, with nothing left out, in order; after
// a list the exact state as of its revision, each difference having been told; and
// nothing twice but what a process printed last, just as it died.
type judge struct {
	t    testing.TB
	mu   sync.Mutex
	w    *restless
	told map[string]*reading // by type

	history map[string]*history // by type; guarded by w.mu
	where   bool                // the runs have soakWhere: of the history there is what that selects

	run, lines, events, repeats, relists, away, unknown, reconnects, ragged, wrong int
}

// reading is what a reader knows of one type.
type reading struct {
	known   map[string]telling // by name
	dead    map[string]bool    // UIDs whose end this run told
	synced  bool               // a first list was told to its end
	listing bool               // told, in this run, what is part of a list without end yet
	here    map[string]int     // UID to the last revision that this run told
	last    int                // the revision of the last event of this run
	loose   int                // up to this revision the pages of a list were of several moments
	doubt   string             // what is wrong, unless a list is under way
	before  noted
}

// telling is a line of -o ndjson.
type telling struct {
	Type, Resource, Name, UID, RV, Synthetic string
	Initial, FinalStateUnknown               bool
	Object                                   json.RawMessage

	rev  int
	text string
}

// newJudge returns one for what happens from now on: before anything does.
func newJudge(t testing.TB, w *restless) *judge {
	j := &judge{t: t, w: w, told: map[string]*reading{}, history: map[string]*history{}}
	for name := range w.exist {
		j.told[name] = &reading{known: map[string]telling{}}
		j.history[name] = &history{alive: map[string]state{}, chosen: map[string]state{}}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judges = append(w.judges, j)
	return j
}

// soakWhere selects two objects of three, each for a while.
const soakWhere = `(.metadata.annotations.n | tonumber) % 3 > 0`

// selects reports whether an object is of those that are judged.
func (j *judge) selects(object string) bool {
	n, _ := strconv.Atoi(member(object, `"n":"`))
	return !j.where || n%3 > 0
}

// expressions are those of --where.
func (j *judge) expressions() []string {
	if !j.where {
		return nil
	}
	return []string{soakWhere}
}

// flags are those of the runs.
func (j *judge) flags() []string {
	if !j.where {
		return nil
	}
	return []string{"--where", soakWhere}
}

// selected is newJudge of runs with --where: it expects what a server would send to whom
// it selects for.
func selected(t testing.TB, w *restless) *judge {
	j := newJudge(t, w)
	j.where = true
	return j
}

// remember takes what happened into h, the history of one type, as far as it is selected.
func (j *judge) remember(h *history, s state) {
	before, was := h.chosen[s.name]
	switch is := s.what != "DELETED" && j.selects(s.object); {
	case is && !was:
		s.what = "ADDED"
	case is:
	case !was:
		return
	case s.what != "DELETED": // it exists, and is told with what it was
		s.what, s.object = "DELETED", before.object
	}
	if h.all = append(h.all, s); s.what == "DELETED" {
		delete(h.chosen, s.name)
	} else {
		h.chosen[s.name] = s
	}
}

// anew: what comes is told to a reader who knows nothing.
func (j *judge) anew() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	j.run++
	for name, h := range j.history {
		j.told[name] = &reading{known: map[string]telling{}, here: map[string]int{}, dead: map[string]bool{}}
		h.prune()
	}
}

// prune drops what is judged, for a reader to whom nothing is told again.
func (j *judge) prune() {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	for _, h := range j.history {
		h.prune()
	}
}

// begin: a run begins with this checkpoint; "" is none.
func (j *judge) begin(file, server string) {
	j.t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.run++
	notes := make([]noted, len(j.w.types))
	if file != "" {
		notes = notedIn(j.t, file, server, j.w.types, j.expressions()...)
	}
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	for i, r := range j.w.types {
		re := j.told[r.GroupResource()]
		re.before, re.last, re.listing, re.doubt = notes[i], 0, false, ""
		re.here, re.dead = map[string]int{}, map[string]bool{}
		if notes[i].revision > 0 {
			j.history[r.GroupResource()].forget(notes[i].revision)
		}
	}
}

// read takes a whole line.
func (j *judge) read(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines++
	l := telling{text: strings.TrimSpace(text)}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		j.errorf(&l, "%v", err)
		return
	}
	l.rev, _ = strconv.Atoi(l.RV)
	j.w.mu.Lock() // whoever writes has written it down
	defer j.w.mu.Unlock()
	r, h := j.told[l.Resource], j.history[l.Resource]
	switch {
	case r == nil:
		j.errorf(&l, "nobody asked for it")
	case l.Type == "SYNCED" || l.Type == record.RelistedType:
		if l.Type == "SYNCED" && r.synced {
			j.errorf(&l, "the first list is told again")
		}
		if l.Type == record.RelistedType {
			j.relists++
		}
		j.compare(&l, r, h)
		r.synced, r.listing, r.doubt = true, false, ""
	case l.Type == record.ReconnectedType:
		j.reconnects++
	case l.Name == "" || l.Type == record.QuarantinedType:
	case l.Initial || l.Synthetic != "":
		j.events++
		j.listed(&l, r, h)
	default:
		j.events++
		j.event(&l, r, h)
	}
}

func (j *judge) errorf(l *telling, format string, args ...any) {
	j.t.Helper()
	if j.wrong++; j.wrong > 30 {
		return // one mistake makes many
	}
	text := l.text
	if len(text) > 400 {
		text = text[:400] + "..."
	}
	j.t.Errorf("run %d: %s: %s", j.run, fmt.Sprintf(format, args...), text)
}

// event takes what the server sent as such: what happened next.
func (j *judge) event(l *telling, r *reading, h *history) {
	at, found := h.find(l.rev)
	if !found {
		j.errorf(l, "that never happened")
		return
	}
	s := h.all[at]
	if l.Type != s.what && (l.rev > r.loose || s.what == "DELETED") || l.Name != s.name || l.UID != s.uid || normal(l.Object) != s.object {
		j.errorf(l, "what happened is %+v", s)
	}
	if l.rev <= max(r.last, r.before.revision) {
		j.errorf(l, "it goes back from %d, %d being noted", r.last, r.before.revision)
	}
	if n, ok := r.before.objects[l.UID]; ok && n >= l.rev {
		j.errorf(l, "it was noted, at %d", n)
	}
	if r.doubt != "" && l.Type != "DELETED" {
		j.errorf(l, "%s", r.doubt)
		r.doubt = ""
	}
	for _, s := range h.all[min(h.at, at):at] {
		switch {
		case s.rev <= r.loose:
		case l.Type == "DELETED":
			// Until the mark of a streamed list comes, it may be part of that.
			if !r.listing {
				r.doubt = fmt.Sprintf("before %s it was not told that %s %s %s at %d", l.RV, s.name, s.uid, s.what, s.rev)
			}
			r.last = l.rev
			j.keep(l, r)
			return
		default:
			j.errorf(l, "it was never told that %s %s %s at %d", s.name, s.uid, s.what, s.rev)
		}
	}
	again := at < h.at && l.rev > r.loose
	if again {
		j.repeats++
	}
	r.last = l.rev
	h.move(at + 1)
	if !again {
		j.keep(l, r)
	}
}

// listed takes what was learnt from a list.
func (j *judge) listed(l *telling, r *reading, h *history) {
	r.listing, r.doubt = true, ""
	if l.Initial && r.synced {
		j.errorf(l, "initial again")
	}
	if last, ok := r.here[l.UID]; ok && (l.Type != "DELETED" && l.rev <= last || r.dead[l.UID] && !j.where) {
		j.errorf(l, "this run told it at %d", last)
	}
	known, ok := r.known[l.Name]
	ok = ok && known.UID == l.UID
	if l.Type == "DELETED" {
		j.away++
		switch {
		case h.exists(l.Name, l.UID) && !h.left(l.Name, l.UID, known.rev):
			j.errorf(l, "it exists")
		case !ok && !r.before.maybe[l.UID] && r.before.objects[l.UID] == 0:
			j.errorf(l, "a deletion of what nobody heard of, or again")
		case !ok && r.before.maybe[l.UID]:
			j.unknown++
		case !ok:
			j.repeats++
		}
		j.keep(l, r)
		return
	}
	s := h.alive[l.Name] // of long ago
	if at, found := h.find(l.rev); found {
		s = h.all[at]
	}
	if s.rev != l.rev || s.name != l.Name || s.uid != l.UID || s.object != normal(l.Object) {
		j.errorf(l, "there was no such state but %+v", s)
	}
	if n, noted := r.before.objects[l.UID]; noted && n >= l.rev {
		j.errorf(l, "it was noted, at %d", n)
	}
	if ok && known.rev >= l.rev {
		j.repeats++
	}
	j.keep(l, r)
}

// exists reports whether an object does, after all that happened.
func (h *history) exists(name, uid string) bool {
	for i := len(h.all) - 1; i >= 0; i-- {
		if s := h.all[i]; s.name == name {
			return s.uid == uid && s.what != "DELETED"
		}
	}
	return h.alive[name].uid == uid
}

// left reports whether an object ceased to be selected after rev; it may be again.
func (h *history) left(name, uid string, rev int) bool {
	return slices.ContainsFunc(h.all, func(s state) bool {
		return s.name == name && s.uid == uid && s.what == "DELETED" && s.rev > rev
	})
}

// keep does what a reader does.
func (j *judge) keep(l *telling, r *reading) {
	r.here[l.UID] = l.rev
	known, ok := r.known[l.Name]
	switch {
	case l.Type == "DELETED":
		r.dead[l.UID] = true
		if ok && known.UID == l.UID {
			delete(r.known, l.Name)
		}
		return
	case ok && known.UID != l.UID:
		j.errorf(l, "the end of %s was not told before", known.UID)
	case ok && known.rev > l.rev:
		return // it is told again, and we are further
	}
	delete(r.dead, l.UID) // with --where it may come back
	k := *l
	k.text, k.Object = "", nil
	r.known[l.Name] = k
}
