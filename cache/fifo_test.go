package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// step is a change of object a: "A1" adds revision 1, "M2" modifies, "D3"
// deletes, "R2" is a resync.
func step(s, previous string) delta {
	rv := s[1:]
	d := delta{Key: kube.Key{Namespace: "d", Name: "a"}, UID: "u", Revision: kube.Revision(rv), New: object("a", "u", rv)}
	switch s[0] {
	case 'A', 'I':
		d.Type, d.Initial = watch.Added, s[0] == 'I'
	case 'M':
		d.Type, d.Old = watch.Modified, object("a", "u", previous)
	case 'D':
		d.Type, d.Old = watch.Deleted, object("a", "u", previous)
	case 'R':
		d.Type, d.Old, d.Resync = watch.Modified, d.New, true
	}
	return d
}

func TestDeltaFIFOFolds(t *testing.T) {
	tests := []struct {
		name   string
		steps  []string
		cancel bool
		want   []string // type, old revision > new revision
	}{
		{"one", []string{"A1"}, false, []string{"ADDED >1"}},
		{"the latest state wins", []string{"A1", "M2", "M3"}, false, []string{"ADDED >3"}},
		{"from the state that was seen", []string{"M2", "M3", "M4"}, false, []string{"MODIFIED 0>4"}},
		{"a deletion is never missed", []string{"M2", "D3"}, false, []string{"DELETED 0>3"}},
		{"an unseen object is delivered", []string{"A1", "M2", "D3"}, false, []string{"ADDED >2", "DELETED 2>3"}},
		{"or cancelled if asked", []string{"A1", "M2", "D3"}, true, nil},
		{"a replacement", []string{"D1", "A2", "M3"}, false, []string{"DELETED 0>1", "ADDED >3"}},
		{"a replacement that went too", []string{"D1", "A2", "D3"}, false, []string{"DELETED 0>1", "ADDED >2", "DELETED 2>3"}},
		{"cancelled if asked", []string{"D1", "A2", "D3"}, true, []string{"DELETED 0>1"}},
		{"replaced again and again", []string{"D1", "A2", "D3", "A4", "D5", "A6"}, false, []string{"DELETED 0>1", "ADDED >6"}},
		{"added again and again", []string{"A1", "D2", "A3", "D4", "A5", "D6"}, false, []string{"ADDED >1", "DELETED 1>2", "ADDED >5", "DELETED 5>6"}},
		{"initial ones may be known", []string{"I1", "D2", "I3", "D4", "A5", "D6", "A7"}, false, []string{"ADDED >1", "DELETED 1>2", "ADDED >3", "DELETED 3>4", "ADDED >7"}},
		{"whatever is cancelled", []string{"I1", "D2", "I3", "D4", "A5", "D6", "A7"}, true, []string{"ADDED >1", "DELETED 1>2", "ADDED >3", "DELETED 3>4", "ADDED >7"}},
		{"a resync of what waits is no news", []string{"M2", "R2"}, false, []string{"MODIFIED 0>2"}},
		{"news of what waits for a resync", []string{"R1", "M2"}, false, []string{"MODIFIED 1>2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{Cancel: tt.cancel})
			previous := "0"
			for _, s := range tt.steps {
				q.Push(step(s, previous))
				previous = s[1:]
			}
			if want := min(1, len(tt.want)); q.Len() != want {
				t.Errorf("%d keys wait, want %d", q.Len(), want)
			}
			var got []string
			if q.Len() > 0 {
				deltas, err := q.Pop(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range deltas {
					got = append(got, fmt.Sprintf("%s %s>%s", d.Type, d.Old.ResourceVersion, d.New.ResourceVersion))
					if d.Resync {
						t.Error("news is delivered as a resync")
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if q.Len() != 0 || q.Age() != 0 {
				t.Errorf("%d keys wait for %v afterwards", q.Len(), q.Age())
			}
		})
	}
}

// TestDeltaFIFOIsBoundedByKeys: whatever happens to ten objects, ten wait.
func TestDeltaFIFOIsBoundedByKeys(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{Cancel: cancel})
		s := cache.NewStore[kube.Partial]()
		rnd := rand.New(rand.NewPCG(1, 1))
		for rv := range 20_000 {
			name := fmt.Sprint(rnd.IntN(10))
			typ := []watch.Type{watch.Added, watch.Modified, watch.Deleted}[rnd.IntN(3)]
			for _, d := range s.Apply(live(typ, name, "u"+name, fmt.Sprint(rv+1))) {
				q.Push(d)
			}
		}
		if q.Len() > 10 {
			t.Errorf("%d keys wait, want at most 10", q.Len())
		}
		view := newView(t)
		for q.Len() > 0 {
			deltas, err := q.Pop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(deltas) > 4 {
				t.Errorf("%d deltas of one key", len(deltas))
			}
			for _, d := range deltas {
				view.take(d)
			}
		}
		view.is(stateOf(s.Store))
	}
}

func TestDeltaFIFOKeepsTheOrderOfKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := cache.NewDeltaFIFO[kube.Partial](cache.FIFOOptions{})
		s := cache.NewStore[kube.Partial]()
		for i, name := range []string{"c", "a", "b", "c", "a"} {
			for _, d := range s.Apply(live(watch.Modified, name, name, fmt.Sprint(i+1))) {
				q.Push(d)
			}
			<-time.After(time.Second)
		}
		if q.Age() != 5*time.Second {
			t.Errorf("the first has waited %v, want 5 s", q.Age())
		}
		var got []string
		for q.Len() > 0 {
			d, err := q.Pop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d[0].Key.Name)
		}
		if !slices.Equal(got, []string{"c", "a", "b"}) {
			t.Errorf("order %v, want that of the first change of each", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := q.Pop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pop of nothing returned %v", err)
		}
	})
}

// TestChangesHoldUpNobody: a consumer that takes an hour for each delta, beside
// one that is quick.
func TestChangesHoldUpNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "0")
		i, quick, slow := cache.New(w.maps, options{}), newView(t), newView(t)
		i.Handle(quick.take)
		w.run(i.Run)
		w.run(func(ctx context.Context) error {
			for d := range i.Changes(ctx, cache.FIFOOptions{}) {
				slow.take(d)
				<-time.After(time.Hour)
			}
			return nil
		})
		for n := range 100 {
			w.put("a", fmt.Sprint("x", n%3), fmt.Sprint(n))
			w.pass(time.Second)
		}
		if quick.count() < 100 || slow.count() != 1 {
			t.Errorf("%d quick and %d slow calls, want all and 1", quick.count(), slow.count())
		}
		w.pass(10 * time.Hour)
		slow.is(w.truth())
		if slow.count() > 6 {
			t.Errorf("%d slow calls for 4 objects", slow.count())
		}
	})
}
