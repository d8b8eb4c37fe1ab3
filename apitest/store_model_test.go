package apitest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

var lifeSeeds = flag.Int("lives", 4, "seeds of the model of servers that are stopped and restored")

// written is one write, as a watch shows it.
type written struct{ typ, name, uid string }

// modelObject is what the model knows of an object.
type modelObject struct {
	Metadata struct{ Name, UID, ResourceVersion string }
}

// ledger is what clients have seen over all lives of a server.
type ledger struct {
	t *testing.T

	mu     sync.Mutex
	events map[uint64]written // of the present life, by revision
	acks   map[uint64]written // answered, with the type of the event
	seen   uint64             // up to which the watch of this life has come
	newest uint64             // of all lives
	uids   map[string]string  // of all lives, with the name
}

// see notes an event of the watch.
func (l *ledger) see(rv uint64, w written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rv <= l.seen {
		l.t.Errorf("%v at %d, behind %d", w, rv, l.seen)
	}
	l.events[rv], l.seen = w, rv
	l.newest = max(l.newest, rv)
}

// ack notes what a writer was answered.
func (l *ledger) ack(rv uint64, w written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, twice := l.acks[rv]; twice {
		l.t.Errorf("%v and %v have the revision %d", before, w, rv)
	}
	if name, known := l.uids[w.uid]; w.typ == "ADDED" && known {
		l.t.Errorf("%v has the UID of %s", w, name)
	}
	l.acks[rv], l.uids[w.uid] = w, w.name
	l.newest = max(l.newest, rv)
}

// state is what the events up to rv make of the objects at the beginning of the life.
func (l *ledger) state(first map[string]string, rv uint64) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := maps.Clone(first)
	for _, at := range slices.Sorted(maps.Keys(l.events)) {
		switch w := l.events[at]; {
		case at > rv:
		case w.typ == "DELETED":
			delete(state, w.name)
		default:
			state[w.name] = w.uid
		}
	}
	return state
}

// check compares what writers were answered with what the watch has shown.
func (l *ledger) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rv, ack := range l.acks {
		if event, ok := l.events[rv]; rv <= l.seen && (!ok || event != ack) {
			l.t.Errorf("the write %v at %d was shown as %v", ack, rv, event)
		}
	}
}

func modelState(srv *apitest.Server) map[string]string {
	state := map[string]string{}
	objects, _ := srv.List(kube.ConfigMaps)
	for _, b := range objects {
		var o modelObject
		if err := json.Unmarshal(b, &o); err != nil {
			panic(err)
		}
		state[o.Metadata.Name] = o.Metadata.UID
	}
	return state
}

// follow reads a watch from a revision until it ends.
func (l *ledger) follow(srv *apitest.Server, from kube.Revision) {
	resp, err := send(l.t.Context(), srv, http.MethodGet, configMaps+"?watch=1&resourceVersion="+string(from), "")
	if err != nil {
		return // the server has been closed
	}
	defer resp.Body.Close()
	for in := bufio.NewReader(resp.Body); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var e struct {
			Type   string
			Object modelObject
		}
		rv := uint64(0)
		if err = json.Unmarshal(line, &e); err == nil {
			rv, err = strconv.ParseUint(e.Object.Metadata.ResourceVersion, 10, 64)
		}
		if err != nil || e.Type == "ERROR" {
			l.t.Errorf("a watch from %s: %s: %v", from, line, err)
			return
		}
		l.see(rv, written{e.Type, e.Object.Metadata.Name, e.Object.Metadata.UID})
	}
}

// write sends writes until the server is closed, or so many are done.
func (l *ledger) write(srv *apitest.Server, random *rand.Rand, names string, writes int) {
	for range writes {
		name := fmt.Sprintf("%s%d", names, random.IntN(4))
		method, path, body, typ := http.MethodPut, configMaps+"/"+name, fmt.Sprintf(`{"metadata":{"name":%q},"data":{"i":"%d"}}`, name, random.Uint64()), "MODIFIED"
		switch random.IntN(3) {
		case 0:
			method, path, typ = http.MethodPost, configMaps, "ADDED"
		case 1:
			method, body, typ = http.MethodDelete, `{"propagationPolicy":"Background"}`, "DELETED"
		}
		resp, err := send(l.t.Context(), srv, method, path, body, "Content-Type", "application/json")
		if err != nil {
			return
		}
		var o modelObject
		err = json.NewDecoder(resp.Body).Decode(&o)
		resp.Body.Close()
		if err != nil || resp.StatusCode > 299 || typ == "DELETED" {
			continue // it is there, it is not there, or only the watch knows its revision
		}
		rv, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
		if err != nil {
			l.t.Error(err)
			return
		}
		l.ack(rv, written{typ, name, o.Metadata.UID})
	}
}

// TestHistoryOverLives closes servers amid requests and starts the next from what was
// saved, at the end or at some moment before, with restores between. The history that
// clients see is one: each write is shown as it was answered, states are what events
// make of them, and no revision and no UID is given out twice.
func TestHistoryOverLives(t *testing.T) {
	for seed := range uint64(*lifeSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 9))
			l := &ledger{t: t, uids: map[string]string{}}
			var saved []byte
			want := map[string]string{}
			for life := range 6 {
				saved, want = l.live(random, life, saved, want)
				if t.Failed() {
					t.Fatalf("in life %d", life)
				}
			}
		})
	}
}

// live is one life. It returns what the next begins with: the saved state, and what
// must be in it, nil where nobody knows.
func (l *ledger) live(random *rand.Rand, life int, saved []byte, want map[string]string) ([]byte, map[string]string) {
	t := l.t
	var first bytes.Buffer
	srv, err := apitest.Start(apitest.Options{InMemory: true, Seed: 1, State: saved, Prepare: func(s *apitest.Server) error {
		_, err := s.Save(&first)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	begin := modelState(srv)
	if diff := cmp.Diff(want, begin); want != nil && diff != "" {
		t.Errorf("life %d begins with another state (-want +got):\n%s", life, diff)
	}
	from := srv.Revision()
	start, err := strconv.ParseUint(string(from), 10, 64)
	if err != nil || start < l.newest {
		t.Errorf("life %d begins at %s, behind %d, which clients have seen", life, from, l.newest)
	}
	l.events, l.acks, l.seen = map[uint64]written{}, map[uint64]written{}, start
	var clients, writers sync.WaitGroup
	clients.Go(func() { l.follow(srv, from) })
	if err := srv.WaitForWatches(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cut := random.IntN(2) == 0 // Close comes amid the writes
	for i := range 3 {
		own := rand.New(rand.NewPCG(random.Uint64(), 1))
		writers.Go(func() { l.write(srv, own, string(rune('a'+i)), 60) })
	}
	middle, at := first.Bytes(), start
	for range random.IntN(4) {
		for range random.IntN(2000) { // some writes later
			srv.Revision()
		}
		var b bytes.Buffer
		rv, err := srv.Save(&b)
		if err != nil {
			t.Fatal(err)
		}
		middle = b.Bytes()
		if at, err = strconv.ParseUint(string(rv), 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if !cut {
		writers.Wait()
		l.restored(srv, begin, start, random)
	}
	srv.Close()
	writers.Wait()
	clients.Wait()
	l.check()
	if random.IntN(2) == 0 { // as if it had been killed
		if l.seen < at {
			return middle, nil
		}
		return middle, l.state(begin, at)
	}
	var last bytes.Buffer
	if _, err := srv.Save(&last); err != nil {
		t.Fatal(err)
	}
	return last.Bytes(), modelState(srv)
}

// restored restores a server that nobody writes to, to some revision of its life. The
// ledger goes on from there.
func (l *ledger) restored(srv *apitest.Server, begin map[string]string, start uint64, random *rand.Rand) {
	now, err := strconv.ParseUint(string(srv.Revision()), 10, 64)
	if err != nil {
		l.t.Fatal(err)
	}
	for caught := false; !caught; { // the watch has all of it
		l.mu.Lock()
		caught = l.seen >= now
		l.mu.Unlock()
		if l.t.Context().Err() != nil || now == start {
			return
		}
	}
	if diff := cmp.Diff(l.state(begin, now), modelState(srv)); diff != "" {
		l.t.Errorf("the events make another state (-events +server):\n%s", diff)
	}
	back := start + random.Uint64N(now-start+1)
	srv.RestoreTo(kube.Revision(strconv.FormatUint(back, 10)))
	if diff := cmp.Diff(l.state(begin, back), modelState(srv)); diff != "" {
		l.t.Errorf("restored to %d (-events +server):\n%s", back, diff)
	}
	srv.Advance(kube.Revision(strconv.FormatUint(now, 10))) // an etcd that is bumped, as a restore should be
	l.mu.Lock()
	maps.DeleteFunc(l.events, func(rv uint64, _ written) bool { return rv > back })
	maps.DeleteFunc(l.acks, func(rv uint64, _ written) bool { return rv > back })
	l.mu.Unlock()
	own := rand.New(rand.NewPCG(random.Uint64(), 2))
	l.write(srv, own, "r", 10)
}
