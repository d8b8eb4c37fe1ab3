package cache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

type event = watch.Event[kube.Partial]

func object(name, uid, rv string) kube.Partial {
	return kube.Partial{Meta: kube.Meta{Namespace: "d", Name: name, UID: uid, ResourceVersion: rv}}
}

func added(name, uid, rv string) event {
	return live(watch.Added, name, uid, rv)
}

func live(typ watch.Type, name, uid, rv string) event {
	o := object(name, uid, rv)
	return event{Type: typ, Key: kube.KeyOf(o), UID: uid, Revision: kube.Revision(rv), Object: o}
}

func restart(cause error) event { return event{Type: watch.Restart, Cause: cause} }
func synced(rv string) event    { return event{Type: watch.Synced, Revision: kube.Revision(rv)} }

// line prints a delta: "ADDED a u1@5 initial".
func line(d cache.Delta[kube.Partial]) string {
	s := fmt.Sprintf("%s %s %s@%s", d.Type, d.Key.Name, d.UID, d.Revision)
	if d.Type != watch.Added {
		s += " was " + d.Old.ResourceVersion
	}
	if d.Initial {
		s += " initial"
	}
	if d.Inferred {
		s += " inferred"
	}
	return s
}

func TestStoreApply(t *testing.T) {
	first := []event{restart(nil), added("a", "u1", "5"), added("b", "u2", "3"), synced("6")}
	tests := []struct {
		name   string
		events []event
		want   []string // of the last event only
		state  []string
	}{
		{"the first list is initial", first[:2], []string{"ADDED a u1@5 initial"}, []string{"a@5"}},
		{"an end of the first list sweeps nothing", first, nil, []string{"a@5", "b@3"}},
		{"a new object", append(first, live(watch.Added, "c", "u3", "7")), []string{"ADDED c u3@7"}, []string{"a@5", "b@3", "c@7"}},
		{"a change", append(first, live(watch.Modified, "a", "u1", "7")), []string{"MODIFIED a u1@7 was 5"}, []string{"a@7", "b@3"}},
		{"a change delivered as ADDED", append(first, live(watch.Added, "a", "u1", "7")), []string{"MODIFIED a u1@7 was 5"}, []string{"a@7", "b@3"}},
		{"a change of something unknown", append(first, live(watch.Modified, "c", "u3", "7")), []string{"ADDED c u3@7"}, []string{"a@5", "b@3", "c@7"}},
		{"the same event twice", append(first, live(watch.Modified, "a", "u1", "7"), live(watch.Modified, "a", "u1", "7")), nil, []string{"a@7", "b@3"}},
		{"an older event never moves an object back", append(first, live(watch.Modified, "a", "u1", "4")), nil, []string{"a@5", "b@3"}},
		{"a deletion", append(first, live(watch.Deleted, "a", "u1", "8")), []string{"DELETED a u1@8 was 5"}, []string{"b@3"}},
		{"a deletion twice", append(first, live(watch.Deleted, "a", "u1", "8"), live(watch.Deleted, "a", "u1", "8")), nil, []string{"b@3"}},
		{"an older deletion", append(first, live(watch.Deleted, "a", "u1", "4")), nil, []string{"a@5", "b@3"}},
		{"a deletion of the predecessor", append(first, live(watch.Deleted, "a", "u0", "9")), nil, []string{"a@5", "b@3"}},
		{"same name, another UID", append(first, live(watch.Added, "a", "u9", "9")), []string{"DELETED a u1@9 was 5 inferred", "ADDED a u9@9"}, []string{"a@9", "b@3"}},
		{"an older namesake", append(first, live(watch.Added, "a", "u0", "2")), nil, []string{"a@5", "b@3"}},
		{"a relist serves the old state meanwhile", append(first, restart(kube.ErrGone)), nil, []string{"a@5", "b@3"}},
		{"a relist yields no difference where there is none", append(first, restart(kube.ErrGone), added("a", "u1", "5")), nil, []string{"a@5", "b@3"}},
		{"a relist infers changes", append(first, restart(kube.ErrGone), added("a", "u1", "9")), []string{"MODIFIED a u1@9 was 5 inferred"}, []string{"a@9", "b@3"}},
		{"a relist of a restored server goes back", append(first, restart(watch.ErrAhead), added("a", "u1", "2")), []string{"MODIFIED a u1@2 was 5 inferred"}, []string{"a@2", "b@3"}},
		{"a relist infers additions", append(first, restart(kube.ErrGone), added("c", "u3", "9")), []string{"ADDED c u3@9 inferred"}, []string{"a@5", "b@3", "c@9"}},
		{"a relist infers deletions at its end", append(first, restart(kube.ErrGone), added("b", "u2", "3"), synced("9")), []string{"DELETED a u1@9 was 5 inferred"}, []string{"b@3"}},
		{"a relist of nothing deletes everything, in order", append(first, restart(kube.ErrGone), synced("9")), []string{"DELETED a u1@9 was 5 inferred", "DELETED b u2@9 was 3 inferred"}, nil},
		{"a list that broke off leaves no ghost", []event{restart(nil), added("a", "u1", "5"), restart(nil), added("b", "u2", "3"), synced("6")}, []string{"DELETED a u1@6 was 5 inferred"}, []string{"b@3"}},
		{"revisions that are no numbers count as newer", append(first, live(watch.Modified, "a", "u1", "x"), live(watch.Modified, "a", "u1", "b")), []string{"MODIFIED a u1@b was x"}, []string{"a@b", "b@3"}},
		{"changes without revisions are changes", append(first, live(watch.Modified, "a", "u1", ""), live(watch.Modified, "a", "u1", "")), []string{"MODIFIED a u1@ was "}, []string{"a@", "b@3"}},
		{"a relist after a restore keeps no state of the lost history", append(first, restart(watch.ErrAhead), added("a", "u1", "5")), []string{"MODIFIED a u1@5 was 5 inferred"}, []string{"a@5", "b@3"}},
		{"nor does one that begins again", append(first, restart(watch.ErrAhead), restart(kube.ErrGone), added("a", "u1", "5")), []string{"MODIFIED a u1@5 was 5 inferred"}, []string{"a@5", "b@3"}},
		{"one that repeats an object changes it once", append(first, restart(watch.ErrAhead), added("a", "u1", "5"), added("a", "u1", "5")), nil, []string{"a@5", "b@3"}},
		{"what follows a restore is trusted", append(first, restart(watch.ErrAhead), added("a", "u1", "5"), added("b", "u2", "3"), synced("6"), restart(kube.ErrGone), added("a", "u1", "5")), nil, []string{"a@5", "b@3"}},
		{"a bookmark changes nothing", append(first, event{Type: watch.Bookmark, Revision: "99"}), nil, []string{"a@5", "b@3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := cache.NewStore[kube.Partial]()
			var got []string
			for _, ev := range tt.events {
				got = nil
				for _, d := range s.Apply(ev) {
					got = append(got, line(d))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("deltas (-want +got):\n%s", diff)
			}
			var state []string
			for _, name := range []string{"a", "b", "c"} {
				if o, ok := s.Get(kube.Key{Namespace: "d", Name: name}); ok {
					state = append(state, name+"@"+o.ResourceVersion)
				}
			}
			if diff := cmp.Diff(tt.state, state); diff != "" || s.Len() != len(state) {
				t.Errorf("state of %d objects (-want +got):\n%s", s.Len(), diff)
			}
		})
	}
}

func TestStoreKeepsAnObjectThatCannotBeDecoded(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	for _, ev := range []event{restart(nil), added("a", "u1", "5"), synced("6"), restart(errors.New("again"))} {
		s.Apply(ev)
	}
	unread := func(typ watch.Type, rv string) event {
		ev := live(typ, "a", "u1", rv)
		ev.Object = kube.Partial{}
		return ev
	}
	s.Quarantine(unread(watch.Added, "8"))
	if d := s.Apply(synced("9")); len(d) != 0 || s.Len() != 1 {
		t.Errorf("sweep changed %d, store has %d, want 0 and 1", len(d), s.Len())
	}
	if d := s.Quarantine(unread(watch.Modified, "10")); len(d) != 0 || s.Revision() != "10" {
		t.Errorf("a change that cannot be read changed %d, revision %s", len(d), s.Revision())
	}
	d := s.Quarantine(unread(watch.Deleted, "11"))
	if len(d) != 1 || d[0].Type != watch.Deleted || d[0].New.ResourceVersion != "5" || s.Len() != 0 {
		t.Errorf("a deletion that cannot be read: %v, store has %d; want it delivered with the last state", d, s.Len())
	}
}

// TestStoreFollowsHistory replays random histories, with repeats and relists at
// random, and wants the store and the sum of its deltas to equal the truth.
func TestStoreFollowsHistory(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		truth, folded := map[string]kube.Partial{}, map[string]kube.Partial{}
		s := cache.NewStore[kube.Partial]()
		apply := func(ev event) {
			for _, d := range s.Apply(ev) {
				if _, known := folded[d.Key.Name]; known == (d.Type == watch.Added) {
					t.Fatalf("seed %d: %s but known is %v", seed, line(d), known)
				}
				if d.Type == watch.Deleted {
					delete(folded, d.Key.Name)
				} else {
					folded[d.Key.Name] = d.New
				}
			}
		}
		list := func(rv int) {
			apply(restart(kube.ErrGone))
			for _, o := range truth {
				apply(added(o.Name, o.UID, o.ResourceVersion))
			}
			apply(synced(strconv.Itoa(rv)))
		}
		list(0)
		for rv := 1; rv < 300; rv++ {
			name, rvs := string(rune('a'+rnd.IntN(6))), strconv.Itoa(rv)
			ev := live(watch.Modified, name, truth[name].UID, rvs)
			switch _, exists := truth[name]; {
			case !exists:
				ev = live(watch.Added, name, "u"+rvs, rvs)
				truth[name] = ev.Object
			case rnd.IntN(3) == 0:
				ev.Type = watch.Deleted
				delete(truth, name)
			default:
				truth[name] = ev.Object
			}
			switch rnd.IntN(20) {
			case 0:
				list(rv) // the event was missed
			case 1:
				apply(ev)
				apply(ev)
			default:
				apply(ev)
			}
		}
		list(300)
		got := map[string]kube.Partial{}
		for k, o := range s.All() {
			got[k.Name] = o
		}
		if diff := cmp.Diff(truth, got) + cmp.Diff(truth, folded); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// TestStoreRelistKeepsNothing: the strings of a Raw are parts of it, so a store
// must not keep any of an object that a list delivered again unchanged.
func TestStoreRelistKeepsNothing(t *testing.T) {
	const objects, size = 40, 64 << 10
	s := cache.NewStore[codec.Raw]()
	list := func() {
		s.Apply(watch.Event[codec.Raw]{Type: watch.Restart})
		for n := range objects {
			o, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":"d","name":"x%d","uid":"u%d","resourceVersion":"5"},"data":%q}`, n, n, strings.Repeat("x", size)))
			if err != nil {
				t.Fatal(err)
			}
			s.Apply(watch.Event[codec.Raw]{Type: watch.Added, Key: kube.KeyOf(o), UID: o.GetUID(), Revision: "5", Object: o})
		}
		s.Apply(watch.Event[codec.Raw]{Type: watch.Synced, Revision: "6"})
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 3 {
		list()
	}
	if held := heap() - before; held > objects*size*5/4 {
		t.Errorf("%d bytes are held after three lists of %d", held, objects*size)
	}
	runtime.KeepAlive(s)
}

func TestStoreIsReadWhileItIsWritten(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				for k := range s.All() {
					s.Get(k)
				}
				s.Len()
				s.Revision()
				s.Synced()
			}
		})
	}
	for i := range 1000 {
		s.Apply(live(watch.Added, strconv.Itoa(i%10), "u", strconv.Itoa(i+1)))
	}
	wg.Wait()
	if s.Len() != 10 || s.Revision() != "1000" {
		t.Errorf("store has %d objects at %s, want 10 at 1000", s.Len(), s.Revision())
	}
}

func TestStoreApplyDoesNotAllocate(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	a, b := live(watch.Modified, "a", "u1", "x"), live(watch.Modified, "a", "u1", "y")
	s.Apply(a)
	if n := testing.AllocsPerRun(100, func() { s.Apply(b); s.Apply(a) }); n != 0 {
		t.Errorf("%v allocations for two events, want 0", n)
	}
}

func ExampleStore() {
	store := cache.NewStore[kube.Partial]()
	for _, ev := range []watch.Event[kube.Partial]{
		{Type: watch.Restart},
		added("web-0", "u1", "5"),
		added("web-1", "u2", "6"),
		{Type: watch.Synced, Revision: "6"},
		{Type: watch.Restart, Cause: kube.ErrGone}, // the history was lost: another list
		added("web-1", "u2", "6"),
		{Type: watch.Synced, Revision: "9"},
	} {
		for _, d := range store.Apply(ev) {
			fmt.Println(d.Type, d.Key, d.Inferred)
		}
	}
	// Output:
	// ADDED d/web-0 false
	// ADDED d/web-1 false
	// DELETED d/web-0 true
}

// TestStoreNamesakeThatCannotBeDecoded: an object was deleted, and one of the
// same name made that does not decode. The old one is gone all the same, in a
// relist and in a stream; and it does not stay when its namesake goes.
func TestStoreNamesakeThatCannotBeDecoded(t *testing.T) {
	unread := func(typ watch.Type, uid, rv string) event {
		ev := live(typ, "a", uid, rv)
		ev.Object = kube.Partial{}
		return ev
	}
	for _, tt := range []struct {
		name   string
		before []event
		want   []string
	}{
		{"in a relist", []event{restart(kube.ErrGone)}, []string{"DELETED a u1@9 was 5 inferred"}},
		{"in a stream", nil, []string{"DELETED a u1@9 was 5 inferred"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := cache.NewStore[kube.Partial]()
			for _, ev := range append([]event{restart(nil), added("a", "u1", "5"), synced("6")}, tt.before...) {
				s.Apply(ev)
			}
			var got []string
			for _, d := range s.Quarantine(unread(watch.Added, "u9", "9")) {
				got = append(got, line(d))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("deltas (-want +got):\n%s", diff)
			}
			s.Apply(synced("10"))
			s.Apply(live(watch.Deleted, "a", "u9", "11"))
			if s.Len() != 0 {
				t.Error("u1 is there for ever")
			}
		})
	}
	s := cache.NewStore[kube.Partial]()
	s.Apply(added("a", "u9", "9"))
	if d := s.Quarantine(unread(watch.Modified, "u1", "5")); len(d) != 0 || s.Len() != 1 {
		t.Errorf("an older namesake changed %d", len(d))
	}
}

// TestStoreRestoredServerWithAnObjectThatCannotBeDecoded: the server was restored
// to when the object could not be read. What it becomes then is news, though the
// store's last state of it is of a later revision.
func TestStoreRestoredServerWithAnObjectThatCannotBeDecoded(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	for _, ev := range []event{restart(nil), added("a", "u1", "9"), synced("9"), restart(watch.ErrAhead)} {
		s.Apply(ev)
	}
	bad := live(watch.Added, "a", "u1", "5")
	bad.Object = kube.Partial{}
	s.Quarantine(bad)
	s.Apply(synced("5"))
	d := s.Apply(live(watch.Modified, "a", "u1", "6"))
	if len(d) != 1 || d[0].New.ResourceVersion != "6" {
		t.Errorf("got %v, want the state of 6", d)
	}
}
