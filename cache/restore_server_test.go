package cache_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
)

// TestColdListOfARestoredServer: the server was restored while the process was down, and
// gave out a revision again. Where the next life has objects and lists at once, because
// one could not be read or no snapshot was saved yet, it takes no state of the history
// that is lost for that which the server has.
func TestColdListOfARestoredServer(t *testing.T) {
	tests := map[string]struct {
		transform func(kube.Partial) (kube.Partial, error)
		killed    bool // before the first snapshot
	}{
		"an object could not be read": {transform: func(o kube.Partial) (kube.Partial, error) {
			if o.Name == "hard" {
				return o, errors.New("a bug")
			}
			return o, nil
		}},
		"no snapshot was saved": {killed: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			inWorld(t, func(t *testing.T, w *world) {
				life := func(dir string) (v *view, i *informer, stop func()) {
					v = newView(t)
					i = cache.New(w.maps, options{Transform: tt.transform, Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour}})
					i.Handle(v.take)
					stop = w.start(i)
					synctest.Wait()
					return v, i, stop
				}
				w.put("a", "x", "1")
				past := w.srv.Revision()
				w.put("a", "x", "lost")
				w.put("a", "hard", "1")
				_, _, stop := life(dir)
				left := dir
				if tt.killed {
					left = crashed(t, dir)
				}
				stop()
				w.srv.RestoreTo(past)
				w.put("a", "x", "kept") // with the revision of what was lost

				v, i, stop := life(left)
				w.pass(time.Minute)
				key := kube.Key{Namespace: "a", Name: "x"}
				stored, _ := i.Store().Get(key)
				got := []string{stored.Labels["v"], v.objects[key].Labels["v"]}
				if diff := cmp.Diff([]string{"kept", "kept"}, got); diff != "" {
					t.Errorf("the state in the store and that of the handler (-want +got):\n%s", diff)
				}
				stop()
			})
		})
	}
}

// TestSnapshotKnowsTheLatestRevision: an object that a journal added may be later than
// the revision of the snapshot.
func TestSnapshotKnowsTheLatestRevision(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	for _, ev := range []event{restart(nil), added("a", "u1", "9"), added("b", "u2", "10"), added("c", "u3", "8"), synced("6")} {
		s.Apply(ev)
	}
	got, err := cache.NewStore[kube.Partial]().Load(bytes.NewReader(saved(t, s, binding)), binding)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cache.Resume{Revision: "6", Seen: "10"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
