package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// lifeOf is the addition and the deletion of an object whose memory is about size bytes.
func lifeOf(name string, size int) []delta {
	o := object(name, "u-"+name, "1")
	if size > 0 {
		o.Annotations = map[string]string{"a": strings.Repeat("x", size)}
	}
	return []delta{
		{Type: watch.Added, Key: kube.KeyOf(o), UID: o.UID, New: o, Revision: "1"},
		{Type: watch.Deleted, Key: kube.KeyOf(o), UID: o.UID, Old: o, New: o, Revision: "2"},
	}
}

// popped returns the deltas that wait, in order.
func popped(t *testing.T, q *cache.DeltaFIFO[kube.Partial]) (lines []string) {
	t.Helper()
	for q.Len() > 0 {
		deltas, err := q.Pop(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range deltas {
			lines = append(lines, fmt.Sprint(d.Type, " ", d.Key.Name))
		}
	}
	return lines
}

// TestDeltaFIFOForgetsTheOldestUnseenObjects: objects come and go faster than the consumer
// takes them. What it never saw is kept up to a limit; of what it saw, every deletion.
func TestDeltaFIFOForgetsTheOldestUnseenObjects(t *testing.T) {
	const unseen, bytes = 4096, 64 << 20
	tests := []struct {
		name       string
		size, want int // of an object in bytes; objects that are kept
	}{
		{"by their number", 0, unseen},
		{"by their bytes", 1 << 20, bytes / (2 << 20)}, // in the addition and in the deletion
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{})
			seen, initial := lifeOf("seen", tt.size), lifeOf("initial", tt.size)
			q.Push(seen[0])
			want := []string{"ADDED seen"}
			got := popped(t, q)
			initial[0].Initial = true
			for _, d := range []delta{seen[1], initial[0], initial[1]} {
				q.Push(d)
			}
			for _, name := range []string{"seen", "x0"} { // namesakes that are never seen
				for _, d := range lifeOf(name, tt.size) {
					q.Push(d)
				}
			}
			want = append(want, "DELETED seen", "ADDED initial", "DELETED initial")
			lives := 2*tt.want + 10
			for n := range lives {
				for _, d := range lifeOf(fmt.Sprint("x", n), tt.size) {
					q.Push(d)
				}
			}
			stays := lifeOf("stays", tt.size)
			q.Push(stays[0])
			first := lives - q.Len() + 3
			if kept := lives - first; kept > tt.want || kept < tt.want-1 {
				t.Errorf("%d objects are kept that were never seen, want %d", kept, tt.want)
			}
			for n := first; n < lives; n++ {
				want = append(want, fmt.Sprint("ADDED x", n), fmt.Sprint("DELETED x", n))
			}
			want = append(want, "ADDED stays")
			if diff := cmp.Diff(want, append(got, popped(t, q)...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeltaFIFOCountsUnseenObjectsThatLiveAgain: an object that comes again, or that the
// consumer takes, is no longer among those that may be forgotten.
func TestDeltaFIFOCountsUnseenObjectsThatLiveAgain(t *testing.T) {
	q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{})
	push := func(name string, deltas int) {
		for _, d := range lifeOf(name, 0)[:deltas] {
			q.Push(d)
		}
	}
	for n := range 2 * 4096 { // each is taken
		push(fmt.Sprint("taken", n), 2)
		if _, err := q.Pop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	push("again", 2)
	push("again", 1)
	for n := range 4096 {
		push(fmt.Sprint("x", n), 2)
	}
	if n := q.Len(); n != 4097 {
		t.Errorf("%d objects wait, want 4096 that were never seen and one that lives", n)
	}
}

// TestChangesOfAStalledLoopAreBounded: a loop that stands still, objects that live for a
// moment, and a snapshot that holds the deletions.
func TestChangesOfAStalledLoopAreBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "seen", "1")
		i := cache.New(w.maps, options{})
		w.run(i.Run)
		next, v := make(chan struct{}), newView(t)
		stop := w.slowly(i, v, cache.FIFOOptions{}, next)
		synctest.Wait()
		next <- struct{}{}
		synctest.Wait()
		w.delete("a", "seen")
		for n := range 5000 {
			name := fmt.Sprint("x", n)
			w.put("a", name, "1")
			w.delete("a", name)
		}
		w.put("a", "last", "1")
		w.pass(time.Minute)
		taken := 0
		for done := false; !done; {
			select {
			case next <- struct{}{}:
				taken++
				synctest.Wait()
			default:
				done = true
			}
		}
		v.is(w.truth())
		if want := 1 + 2*4096 + 1; taken != want {
			t.Errorf("%d deltas, want %d: the end of what was seen, 4096 objects that came and went, and what exists", taken, want)
		}
		stop()
	})
}
