package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/record"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestSelectorIsAServersSelector plays random histories to a selector, and to a reader
// to whom a server would send what it selects: outside of lists both have the same
// events, one by one; a list ends at the same state, and leaves alone what is as it was.
func TestSelectorIsAServersSelector(t *testing.T) {
	for seed := range uint64(500) {
		h := newSelection(t, seed)
		for range 60 {
			h.step()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// pick is an object of the history that may be selected.
type pick struct {
	UID   string
	Rev   int
	Class string // "yes" is selected, of "fail" nobody can say
}

// change is what a reader learns.
type change struct {
	Type      string
	Key       string
	UID       string
	Rev       int
	Was       pick // the object in it
	Unmatched bool
}

type selectionTest struct {
	t     *testing.T
	rnd   *rand.Rand
	rev   int
	now   map[string]pick // all objects, at the server
	known map[string]pick // what the reader knows
	store *cache.RWStore[codec.Raw]
	sel   filter.Selector[codec.Raw]
}

func newSelection(t *testing.T, seed uint64) *selectionTest {
	h := &selectionTest{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), now: map[string]pick{}, known: map[string]pick{}, store: cache.NewStore[codec.Raw]()}
	var c filter.Criteria
	if err := c.Compile([]string{`.class == "yes" or (.class == "fail" and error("no"))`}, []string{"out"}); err != nil {
		t.Fatal(err)
	}
	h.sel = filter.Selector[codec.Raw]{Criteria: c, Known: h.store.Get, Fields: record.FieldsOf}
	h.list()
	return h
}

func (h *selectionTest) event(kind watch.Type, name string, o pick) watch.Event[codec.Raw] {
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":"%d"},"class":%q}`, spaceOf(name), name, o.UID, o.Rev, o.Class))
	if err != nil {
		h.t.Fatal(err)
	}
	return watch.Event[codec.Raw]{Type: kind, Key: kube.KeyOf(raw), UID: o.UID, Revision: kube.Revision(strconv.Itoa(o.Rev)), Object: raw}
}

func spaceOf(name string) string {
	if name == "o3" {
		return "out"
	}
	return "in"
}

// play gives ev to the selector, and returns what comes of it.
func (h *selectionTest) play(ev watch.Event[codec.Raw]) (all []change) {
	ev, how, _ := h.sel.Take(ev)
	if how == filter.Dropped {
		return nil
	}
	for _, d := range h.store.Apply(ev) {
		var was struct {
			Class string `json:"class"`
		}
		if err := d.New.Decode(&was); err != nil {
			h.t.Fatal(err)
		}
		rev, _ := strconv.Atoi(string(d.Revision))
		at, _ := strconv.Atoi(d.New.GetResourceVersion())
		all = append(all, change{string(d.Type), d.Key.Name, d.UID, rev, pick{d.New.Identity().UID, at, was.Class}, how == filter.Unmatched})
	}
	return all
}

// act changes the server's objects, and returns the event of it.
func (h *selectionTest) act() (ev watch.Event[codec.Raw], name string, before pick) {
	h.rev++
	name = fmt.Sprintf("o%d", h.rnd.IntN(4))
	before, exists := h.now[name]
	switch {
	case exists && h.rnd.IntN(4) == 0:
		delete(h.now, name)
		last := before
		last.Rev = h.rev
		return h.event(watch.Deleted, name, last), name, before
	case exists:
		h.now[name] = pick{before.UID, h.rev, h.class()}
		return h.event(watch.Modified, name, h.now[name]), name, before
	}
	h.now[name] = pick{strconv.Itoa(h.rev), h.rev, h.class()}
	return h.event(watch.Added, name, h.now[name]), name, before
}

func (h *selectionTest) class() string { return []string{"yes", "yes", "no", "fail"}[h.rnd.IntN(4)] }

func (h *selectionTest) selects(name string, o pick) bool {
	return o.Class == "yes" && spaceOf(name) != "out"
}

// step is something that happens: an event, events that nobody sees and a list.
func (h *selectionTest) step() {
	if h.rnd.IntN(12) == 0 {
		for range h.rnd.IntN(5) {
			h.act()
		}
		h.list()
		return
	}
	ev, name, before := h.act()
	now, exists := h.now[name]
	was, is := h.selects(name, before), exists && h.selects(name, now)
	var want []change
	switch {
	case is && !was:
		want = []change{{"ADDED", name, now.UID, h.rev, now, false}}
	case is:
		want = []change{{"MODIFIED", name, now.UID, h.rev, now, false}}
	case was && exists:
		want = []change{{"DELETED", name, before.UID, h.rev, before, true}}
	case was:
		want = []change{{"DELETED", name, before.UID, h.rev, pick{before.UID, h.rev, before.Class}, false}}
	}
	got := h.play(ev)
	if diff := gocmp.Diff(want, got); diff != "" {
		h.t.Fatalf("%s of %s, %+v before (-want +got):\n%s", ev.Type, name, before, diff)
	}
	h.learn(got)
	h.check()
}

// list has all objects listed, perhaps by a stream among whose objects there are news,
// perhaps with one that breaks off first.
func (h *selectionTest) list() {
	before := maps.Clone(h.known)
	for last := false; !last; {
		last = h.rnd.IntN(3) > 0
		h.play(watch.Event[codec.Raw]{Type: watch.Restart})
		for _, name := range slices.Sorted(maps.Keys(h.now)) {
			if !last && h.rnd.IntN(3) == 0 {
				break
			}
			h.learn(h.play(h.event(watch.Added, name, h.now[name])))
		}
		for range h.rnd.IntN(3) {
			ev, _, _ := h.act()
			if last { // else nobody sees it
				h.learn(h.play(ev))
			}
		}
	}
	ev := watch.Event[codec.Raw]{Type: watch.Synced, Revision: kube.Revision(strconv.Itoa(h.rev))}
	h.learn(h.play(ev))
	h.check()
	for name, o := range before {
		if now := h.known[name]; o.Rev == now.Rev && o != now {
			h.t.Fatalf("%s was %+v and is %+v", name, o, now)
		}
	}
}

// learn does what a reader does, who is told nothing that does not follow.
func (h *selectionTest) learn(all []change) {
	for _, c := range all {
		old, known := h.known[c.Key]
		switch {
		case known == (c.Type == "ADDED"), known && old.UID != c.UID, c.Type != "DELETED" && known && c.Rev <= old.Rev:
			h.t.Fatalf("%+v, where the reader knows %+v", c, old)
		case c.Type == "DELETED":
			if exists := h.now[c.Key].UID == c.UID; c.Unmatched != exists && c.Unmatched {
				h.t.Fatalf("%+v: exists: %v", c, exists)
			}
			delete(h.known, c.Key)
		default:
			h.known[c.Key] = c.Was
		}
	}
}

// check compares what the reader knows with what is selected.
func (h *selectionTest) check() {
	var bytes int64
	for k, err := range h.sel.Failing {
		bytes += int64(160 + len(k.Namespace) + len(k.Name) + 2*len(err.Error()))
	}
	if got := h.sel.Bytes(); got != bytes {
		h.t.Errorf("the selector counts %d bytes, want %d", got, bytes)
	}
	want, failing := map[string]pick{}, 0
	for name, o := range h.now {
		if h.selects(name, o) {
			want[name] = o
		}
		if o.Class == "fail" && spaceOf(name) != "out" {
			failing++
		}
	}
	if diff := gocmp.Diff(want, h.known); diff != "" {
		h.t.Fatalf("the reader's state (-want +got):\n%s", diff)
	}
	if got := h.sel.Undecided(kube.Pods); (got != nil) != (failing > 0) || len(h.sel.Failing) != failing {
		h.t.Fatalf("the expression fails for %d objects: %v", failing, got)
	}
}

func TestSelectorOfANamesakeThatDoesNotMatch(t *testing.T) {
	h := newSelection(t, 1)
	h.rev = 1
	h.now = map[string]pick{"o0": {"a", 1, "yes"}}
	h.play(watch.Event[codec.Raw]{Type: watch.Restart})
	h.play(h.event(watch.Added, "o0", h.now["o0"]))
	h.play(watch.Event[codec.Raw]{Type: watch.Synced, Revision: "1"})
	h.rev = 3 // at 2 it was deleted, which nobody saw
	ev, how, err := h.sel.Take(h.event(watch.Added, "o0", pick{"b", 3, "fail"}))
	if ev.Type != watch.Deleted || ev.UID != "a" || how != filter.Replaced || err == nil {
		t.Errorf("%s of %s, %v, %v", ev.Type, ev.UID, how, err)
	}
	if _, _, err := h.sel.Take(h.event(watch.Modified, "o0", pick{"b", 3, "fail"})); err != nil {
		t.Errorf("it is reported again: %v", err)
	}
}

// A run whose expression failed for an object does not end as if nothing were wrong.
func TestUndecidedRunsFail(t *testing.T) {
	one := &silent{}
	for _, end := range []error{nil, exit.ErrAskedFor, exit.ErrTimedOut, exit.ErrPipe} {
		if got := filter.Decided(end, []*silent{one}); got != end {
			t.Errorf("%v became %v", end, got)
		}
		got := filter.Decided(end, []*silent{one, {open: errors.New("of a")}})
		var f *exit.Error
		if good := end == nil || errors.Is(end, exit.ErrAskedFor); good != (errors.As(got, &f) && f.Code == exit.CodeFailed) {
			t.Errorf("%v became %v", end, got)
		}
	}
}
