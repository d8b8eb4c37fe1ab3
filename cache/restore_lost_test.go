package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
)

// TestEndAfterARestoreThatWasNoticed: the process ends before it can save the state after
// a restore of the server. The server passes the revision of the old snapshot before the
// next life, and has given out revisions of the lost history again, so that only what the
// process left shows that this history is lost.
func TestEndAfterARestoreThatWasNoticed(t *testing.T) {
	tests := map[string]struct{ killed, amid, unsaved bool }{
		"killed":                          {killed: true},
		"killed amid the list":            {killed: true, amid: true},
		"stopped amid the list":           {amid: true},
		"killed before it had a snapshot": {killed: true, unsaved: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			inWorld(t, func(t *testing.T, w *world) {
				at := func(dir string) cache.Snapshot {
					return cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour}
				}
				w.put("a", "x", "1")
				w.put("a", "y", "1")
				past := w.srv.Revision()
				w.put("a", "x", "lost")
				for n := range 20 {
					w.put("a", "lost", fmt.Sprint(n))
				}
				_, stop := w.lives(at(dir), newView(t), nil)
				if !tt.unsaved {
					w.pass(time.Hour + time.Minute)
				}
				synctest.Wait()
				var hang *apitest.Fault
				if tt.amid {
					hang = w.srv.On(apitest.Match{Verb: "watch", Query: "sendInitialEvents", AfterEvent: 1}, faults.HalfOpen())
				}
				w.srv.RestoreTo(past)
				w.put("a", "x", "kept") // with the revision of what was lost
				w.delete("a", "y")
				restored := time.Now()
				noticed := func(r apitest.Request) bool {
					return r.Start.After(restored) && r.Query.Has("sendInitialEvents") && r.Events > 0
				}
				for !slices.ContainsFunc(w.srv.Requests(), noticed) {
					w.pass(5 * time.Second)
				}
				left := dir
				if tt.killed {
					left = crashed(t, dir)
				}
				stop()
				if hang != nil {
					hang.Remove()
				}
				for n := range 40 {
					w.put("a", "more", fmt.Sprint(n))
				}

				v := newView(t)
				i, stop := w.lives(at(left), v, nil)
				w.pass(time.Minute)
				v.is(w.truth())
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

// TestEndBeforeTheListAfterARestore: a probe has found that the server was restored, and
// the process ends while the requests for the objects that follow are refused or hang.
func TestEndBeforeTheListAfterARestore(t *testing.T) {
	tests := map[string]struct {
		fault  http.HandlerFunc
		killed bool
		full   bool // no journal can be written when the probe answers, but later
	}{
		"killed while it is refused":      {fault: faults.Throttle("1"), killed: true},
		"stopped while it is refused":     {fault: faults.Throttle("1")},
		"killed while it waits":           {fault: faults.Hang(), killed: true},
		"stopped while it waits":          {fault: faults.Hang()},
		"killed after the disk was full":  {fault: faults.Throttle("1"), killed: true, full: true},
		"stopped after the disk was full": {fault: faults.Throttle("1"), full: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			inWorld(t, func(t *testing.T, w *world) {
				at := func(dir string) cache.Snapshot {
					return cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour}
				}
				w.put("a", "x", "1")
				w.put("a", "y", "1")
				past := w.srv.Revision()
				for n := range 20 {
					w.put("a", "x", fmt.Sprint("lost", n))
				}
				i, stop := w.lives(at(dir), newView(t), nil)
				w.pass(time.Hour + time.Minute) // it is saved
				w.put("a", "x", "lost and not saved")
				synctest.Wait()
				refused := w.srv.On(apitest.Match{Verb: "watch", Query: "sendInitialEvents"}, tt.fault)
				release := func() {}
				if tt.full {
					release = noJournals(t, dir)
				}
				w.srv.RestoreTo(past)
				w.put("a", "x", "kept")
				w.delete("a", "y")
				restored := time.Now()
				noticed := func(r apitest.Request) bool {
					return r.Start.After(restored) && r.Query.Has("sendInitialEvents")
				}
				for !slices.ContainsFunc(w.srv.Requests(), noticed) {
					w.pass(time.Second)
				}
				if release(); tt.full {
					w.pass(2 * time.Hour) // it tries to save
				}
				for what, wait := range map[string]func(context.Context) error{
					"is at the revision of the server": func(ctx context.Context) error { return i.WaitRevision(ctx, w.srv.Revision()) },
					"is up to date":                    i.UpToDate(),
				} {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					if err := wait(ctx); err == nil {
						t.Errorf("the store of a lost history %s", what)
					}
					cancel()
				}
				left := dir
				if tt.killed {
					left = crashed(t, dir)
				}
				stop()
				refused.Remove()
				for n := range 40 {
					w.put("a", "more", fmt.Sprint(n))
				}

				v := newView(t)
				i, stop = w.lives(at(left), v, nil)
				w.pass(time.Minute)
				v.is(w.truth())
				if diff := cmp.Diff(w.truth(), stateOf(i.Store())); diff != "" {
					t.Errorf("the store (-truth +store):\n%s", diff)
				}
				stop()
			})
		})
	}
}

// noJournals lets no journal be created until release, as a full disk does: folders have
// the names of the files.
func noJournals(t *testing.T, dir string) (release func()) {
	t.Helper()
	var folders []string
	for n := range 100 {
		name := filepath.Join(dir, fmt.Sprintf("maps.journal-%09d", n))
		if err := os.Mkdir(name, 0o700); err == nil {
			folders = append(folders, name)
		} else if !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	return func() {
		for _, name := range folders {
			if err := os.Remove(name); err != nil {
				t.Error(err)
			}
		}
	}
}
