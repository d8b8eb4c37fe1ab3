package cache_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
)

// TestWarmRestartReadsAgainWhatCouldNotBeRead: an object that the program could not
// read, from a list or a watch, new or an update of a known one, is read again by the
// next life, in which the program may have been mended.
func TestWarmRestartReadsAgainWhatCouldNotBeRead(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		broken := true
		life := func() (v *view, i *informer, stop func()) {
			v = newView(t)
			i = cache.New(w.maps, options{Snapshot: snapshot, Transform: func(o kube.Partial) (kube.Partial, error) {
				if broken && o.Labels["v"] == "hard" {
					return o, errors.New("a bug")
				}
				return o, nil
			}})
			i.Handle(v.take)
			ctx, cancel := context.WithCancel(w.ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				i.Run(ctx)
			}()
			synctest.Wait()
			return v, i, func() {
				cancel()
				<-ended
			}
		}
		w.put("a", "listed", "hard")
		w.put("a", "known", "1")
		_, _, stop := life()
		w.put("a", "known", "hard")
		w.put("a", "new", "hard")
		w.put("a", "gone", "hard")
		w.put("a", "easy", "1")
		synctest.Wait()
		stop()
		for range 2 { // it is not forgotten
			_, _, stop = life()
			stop()
		}
		w.delete("a", "gone")
		broken = false
		v, i, stop := life()
		w.pass(time.Minute)
		v.is(w.truth())
		if diff := cmp.Diff(w.truth(), stateOf(i.Store())); diff != "" {
			t.Errorf("the store (-server +store):\n%s", diff)
		}
		stop()

		w.srv.ForgetRequests()
		_, _, stop = life()
		stop()
		if n := w.lists(); n > 0 {
			t.Errorf("%d lists though everything can be read", n)
		}
	})
}

// TestStoreForgetsWhatCouldNotBeRead: a snapshot can be resumed from once each object
// was read, deleted, or is not in a list.
func TestStoreForgetsWhatCouldNotBeRead(t *testing.T) {
	tests := []struct {
		name   string
		events []event
		resume bool
	}{
		{"it stays", []event{added("b", "u2", "8")}, false},
		{"a new one is read", []event{live("MODIFIED", "new", "u9", "8")}, false},
		{"both are read", []event{live("MODIFIED", "new", "u9", "8"), live("MODIFIED", "a", "u1", "9")}, true},
		{"both are deleted", []event{live("DELETED", "new", "u9", "8"), live("DELETED", "a", "u1", "9")}, true},
		{"a list reads one and has the other no more", []event{restart(nil), added("a", "u1", "7"), synced("9")}, true},
		{"an unfinished list", []event{restart(nil), added("a", "u1", "7"), restart(nil), added("b", "u3", "7"), synced("9")}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := cache.NewStore[kube.Partial]()
			for _, ev := range []event{restart(nil), added("a", "u1", "5"), synced("6")} {
				s.Apply(ev)
			}
			for _, bad := range []event{live("MODIFIED", "a", "u1", "7"), live("ADDED", "new", "u9", "7")} {
				bad.Object = kube.Partial{}
				s.Quarantine(bad)
			}
			for _, ev := range tt.events {
				s.Apply(ev)
			}
			path := filepath.Join(t.TempDir(), "pods")
			if err := s.SaveFile(path, binding); err != nil {
				t.Fatal(err)
			}
			from, err := cache.NewStore[kube.Partial]().LoadFile(path, binding)
			if err != nil || (from.Revision != "") != tt.resume || from.Seen == "" {
				t.Errorf("resume from %+v, %v; want a revision: %t", from, err, tt.resume)
			}
		})
	}
}
