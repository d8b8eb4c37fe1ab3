package main

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/kube"
)

// noted is what the checkpoint has for certain before a run.
type noted struct {
	revision int            // all up to it
	objects  map[string]int // UID to revision
	maybe    map[string]bool
}

// settled: the last run ended in good order, so what it told is noted.
func (j *judge) settled(file, server string) {
	j.t.Helper()
	for i, n := range notedIn(j.t, file, server, j.w.types, j.expressions()...) {
		r := j.told[j.w.types[i].GroupResource()]
		for uid, rev := range r.here {
			if r.dead[uid] {
				rev = 0
			}
			if n.objects[uid] != rev || n.maybe[uid] {
				j.t.Errorf("run %d ended in good order and noted %s %s at %d, having told %d", j.run, j.w.types[i], uid, n.objects[uid], rev)
			}
		}
	}
}

// identityOf is that of a checkpoint of watch -A -o ndjson.
func identityOf(server string, types []kube.Resource, where ...string) checkpoint.Identity {
	id := checkpoint.Identity{Server: server, Form: "objects"}
	for _, r := range types {
		id.Streams = append(id.Streams, checkpoint.Stream{Resource: r.String(), Where: where})
	}
	return id
}

func notedIn(t testing.TB, file, server string, types []kube.Resource, where ...string) []noted {
	t.Helper()
	id := identityOf(server, types, where...)
	// Of a copy: a process that is being forked meanwhile would keep the lock.
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file+".copy", b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, states, err := checkpoint.Open(file+".copy", id)
	if err != nil {
		t.Fatal(err)
	}
	if f.Damage != nil {
		t.Fatal(f.Damage)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	notes := make([]noted, len(states))
	for i, s := range states {
		n := noted{objects: map[string]int{}, maybe: map[string]bool{}}
		n.revision, _ = strconv.Atoi(string(s.Revision))
		for _, o := range s.Objects {
			n.objects[o.UID], _ = strconv.Atoi(string(o.Revision))
		}
		for _, o := range s.Maybe {
			n.maybe[o.UID] = true
		}
		notes[i] = n
	}
	return notes
}

// compare expects the reader to know the state as of a list.
func (j *judge) compare(l *telling, r *reading, h *history) {
	at, found := h.find(l.rev)
	if found {
		at++
	}
	if at < h.at {
		j.errorf(l, "the list is older than what was told, at %d", h.all[h.at-1].rev)
		return
	}
	h.move(at)
	r.last = max(r.last, l.rev)
	names := map[string]bool{}
	for name := range h.alive {
		names[name] = true
	}
	for name := range r.known {
		names[name] = true
	}
	for name := range names {
		want, got := h.alive[name], r.known[name]
		if want.uid == got.UID && want.rev == got.rev {
			continue
		}
		// Pages of a list that expired in between are newer than its revision.
		later := false
		for _, s := range h.all[at:] {
			later = later || s.name == name && (s.rev == got.rev && s.uid == got.UID || got.UID == "" && s.what == "DELETED")
		}
		if !later {
			j.errorf(l, "%s is %s at %d, and the reader knows %q at %d", name, want.uid, want.rev, got.UID, got.rev)
			continue
		}
		if n := len(h.all); n > 0 && r.loose < h.all[n-1].rev {
			r.loose = h.all[n-1].rev
			j.ragged++
		}
	}
}

// end compares with what the server has at last.
func (j *judge) end() {
	j.t.Helper()
	for _, r := range j.w.types {
		re := j.told[r.GroupResource()]
		objects, _ := j.w.srv.List(r)
		objects = slices.DeleteFunc(objects, func(o []byte) bool { return !j.selects(string(o)) })
		for _, o := range objects {
			rev, _ := strconv.Atoi(member(string(o), `"resourceVersion":"`))
			name, uid := member(string(o), `"name":"`), member(string(o), `"uid":"`)
			if l := re.known[name]; l.UID != uid || l.rev != rev {
				j.t.Errorf("at last the server has %s %s %s at %d, and the reader %q at %d", r, name, uid, rev, l.UID, l.rev)
			}
		}
		if len(objects) != len(re.known) {
			j.t.Errorf("at last the server has %d of %s, and the reader %d", len(objects), r, len(re.known))
		}
	}
}
