package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/kube"
)

// lives runs an informer with a snapshot until stop is called, which waits for
// its end.
func (w *world) lives(s cache.Snapshot, v *view, onError func(error)) (i *informer, stop func()) {
	i = cache.New(w.maps, options{Snapshot: s, OnError: onError})
	i.Handle(v.take)
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		i.Run(ctx)
	}()
	synctest.Wait()
	return i, func() {
		cancel()
		<-ended
	}
}

// lists counts the requests that asked for the whole collection.
func (w *world) lists() (n int) {
	for _, r := range w.srv.Requests() {
		if r.Verb == "list" && r.Query.Get("limit") != "1" || r.Query.Has("sendInitialEvents") {
			n++
		}
	}
	return n
}

func TestWarmRestartResumesWithoutAList(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		_, stop := w.lives(snapshot, newView(t), func(err error) { t.Error(err) })
		stop()
		w.delete("a", "x")
		w.put("a", "y", "2")
		w.put("a", "z", "1")
		w.srv.ForgetRequests()

		v := newView(t)
		i, stop := w.lives(snapshot, v, func(err error) { t.Error(err) })
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.is(w.truth())
		if n := w.lists(); n != 0 {
			t.Errorf("%d lists, want none", n)
		}
		if got := v.log[2:]; !cmp.Equal(got, []string{"DELETED a/x", "MODIFIED a/y", "ADDED a/z"}) {
			t.Errorf("got %q after what was in the snapshot", got)
		}
		stop()
	})
}

// TestWarmRestartDeliversDeletionsWhileDown: the history is gone too.
func TestWarmRestartDeliversDeletionsWhileDown(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		_, stop := w.lives(snapshot, newView(t), func(err error) { t.Error(err) })
		stop()
		w.delete("a", "x")
		w.delete("a", "y")
		w.put("a", "y", "again")
		w.srv.Expire()

		v := newView(t)
		_, stop = w.lives(snapshot, v, nil)
		w.pass(time.Minute)
		v.is(w.truth())
		if got := v.log[2:]; !cmp.Equal(got, []string{"DELETED a/y inferred", "ADDED a/y inferred", "DELETED a/x inferred"}) {
			t.Errorf("got %q after what was in the snapshot", got)
		}
		stop()
	})
}

// TestWarmRestartAfterACrash: the file is older than the end. What happened since
// is delivered again, and nothing is skipped.
func TestWarmRestartAfterACrash(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		path := filepath.Join(dir, "maps")
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		_, stop := w.lives(cache.Snapshot{Path: path, Cluster: "c1", Every: time.Minute}, newView(t), func(err error) { t.Error(err) })
		w.pass(90 * time.Second) // it is saved once
		crashed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w.delete("a", "x")
		synctest.Wait()
		stop() // which saves, but a crash would not
		if err := os.WriteFile(path, crashed, 0o600); err != nil {
			t.Fatal(err)
		}
		v := newView(t)
		_, stop = w.lives(cache.Snapshot{Path: path, Cluster: "c1"}, v, func(err error) { t.Error(err) })
		v.is(w.truth())
		stop()
	})
}

// slowly consumes Changes and deals with one delta whenever next says so.
func (w *world) slowly(i *informer, v *view, o cache.FIFOOptions, next <-chan struct{}) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for d := range i.Changes(ctx, o) {
			select {
			case <-next:
				v.take(d)
			case <-ctx.Done():
				return
			}
		}
	}()
	synctest.Wait()
	return func() {
		cancel()
		<-ended
	}
}

// TestWarmRestartDeliversUnacknowledgedDeletions: they were delivered, but not
// processed, when the process ended or crashed.
func TestWarmRestartDeliversUnacknowledgedDeletions(t *testing.T) {
	for _, crash := range []bool{false, true} {
		for _, cancels := range []bool{false, true} {
			t.Run(fmt.Sprintf("crash %v cancel %v", crash, cancels), func(t *testing.T) {
				dir := t.TempDir()
				inWorld(t, func(t *testing.T, w *world) {
					path := filepath.Join(dir, "maps")
					o := cache.FIFOOptions{Cancel: cancels}
					for _, name := range []string{"w", "x", "y", "z"} {
						w.put("a", name, "1")
					}
					// life runs a process with a slow consumer, which deals with what act lets it.
					life := func(v *view, act func(i *informer, next chan<- struct{})) {
						i := cache.New(w.maps, options{Snapshot: cache.Snapshot{Path: path, Cluster: "c1"}, OnError: func(err error) { t.Error(err) }})
						next := make(chan struct{})
						enough := w.slowly(i, v, o, next)
						ctx, cancel := context.WithCancel(w.ctx)
						ended := make(chan struct{})
						go func() {
							defer close(ended)
							i.Run(ctx)
						}()
						synctest.Wait()
						act(i, next)
						synctest.Wait()
						w.pass(2 * time.Minute) // it is saved
						crashed, err := os.ReadFile(path)
						if err != nil {
							t.Fatal(err)
						}
						enough()
						cancel()
						<-ended
						if crash {
							if err := os.WriteFile(path, crashed, 0o600); err != nil {
								t.Fatal(err)
							}
						}
					}

					v := newView(t)
					life(v, func(_ *informer, next chan<- struct{}) {
						for range 4 {
							next <- struct{}{}
						}
						synctest.Wait() // the fourth is being processed
						v.is(w.truth())
						w.delete("a", "x") // in hand
						w.delete("a", "y") // waits
						w.delete("a", "z") // waits, and comes back
						w.put("a", "z", "2")
					})

					// Everything is delivered again, the deletions among it.
					v = newView(t)
					life(v, func(i *informer, next chan<- struct{}) {
						for len(v.log) < 8 {
							next <- struct{}{}
							synctest.Wait()
						}
						v.is(w.truth())
						slices.Sort(v.log)
						v.delivered("ADDED a/w initial", "ADDED a/x initial", "ADDED a/y initial", "ADDED a/z initial", "ADDED a/z initial",
							"DELETED a/x inferred", "DELETED a/y inferred", "DELETED a/z inferred")
						w.put("a", "w", "2")
						next <- struct{}{}
					})

					// And then it is over.
					v = newView(t)
					life(v, func(i *informer, next chan<- struct{}) {
						next <- struct{}{}
						next <- struct{}{}
						synctest.Wait()
						v.is(w.truth())
						slices.Sort(v.log)
						v.delivered("ADDED a/w initial", "ADDED a/z initial")
					})
				})
			})
		}
	}
}

// TestWarmRestartAfterALoopThatEndedFirst: a loop over Changes ends some events before
// its informer does. What was deleted meanwhile is delivered by the next life.
func TestWarmRestartAfterALoopThatEndedFirst(t *testing.T) {
	for _, saves := range []int{0, 1} {
		t.Run(fmt.Sprint("saved meanwhile ", saves), func(t *testing.T) {
			dir := t.TempDir()
			inWorld(t, func(t *testing.T, w *world) {
				snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
				w.put("a", "x", "1")
				i, stop := w.lives(snapshot, newView(t), nil)
				next := make(chan struct{})
				enough := w.slowly(i, newView(t), cache.FIFOOptions{}, next)
				next <- struct{}{} // it knows x
				synctest.Wait()
				enough()
				w.pass(time.Duration(saves)*time.Minute + time.Second)
				w.delete("a", "x")
				synctest.Wait()
				stop()
				v := newView(t)
				_, stop = w.lives(snapshot, v, nil)
				v.delivered("ADDED a/x initial", "DELETED a/x inferred")
				stop()
			})
		})
	}
}

// TestWarmRestartForgetsDeletionsOfATransientConsumer: it begins with the present.
func TestWarmRestartForgetsDeletionsOfATransientConsumer(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		w.put("a", "x", "1")
		i, stop := w.lives(snapshot, newView(t), func(err error) { t.Error(err) })
		enough := w.slowly(i, newView(t), cache.FIFOOptions{Transient: true}, nil)
		w.delete("a", "x")
		synctest.Wait()
		enough()
		stop()
		v := newView(t)
		_, stop = w.lives(snapshot, v, func(err error) { t.Error(err) })
		v.delivered()
		stop()
	})
}

func TestWarmRestartSetsAsideWhatDoesNotFit(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(path string, s *cache.Snapshot) error
		reason error
	}{
		{"damaged", func(path string, _ *cache.Snapshot) error { return os.Truncate(path, 200) }, cache.ErrSnapshotDamaged},
		{"of another cluster", func(_ string, s *cache.Snapshot) error { s.Cluster = "c2"; return nil }, cache.ErrSnapshotForeign},
		{"of another projection", func(_ string, s *cache.Snapshot) error { s.Projection = "v2"; return nil }, cache.ErrSnapshotForeign},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			inWorld(t, func(t *testing.T, w *world) {
				snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
				w.put("a", "x", "1")
				_, stop := w.lives(snapshot, newView(t), func(err error) { t.Error(err) })
				stop()
				if err := tt.spoil(snapshot.Path, &snapshot); err != nil {
					t.Fatal(err)
				}
				w.delete("a", "x")
				var errs []error
				v := newView(t)
				_, stop = w.lives(snapshot, v, func(err error) { errs = append(errs, err) })
				v.delivered() // a cold start knows nothing of x
				if len(errs) != 1 || !errors.Is(errs[0], tt.reason) {
					t.Errorf("got %v, want %v", errs, tt.reason)
				}
				stop()
				if _, err := os.Stat(snapshot.Path); err != nil {
					t.Errorf("no new snapshot: %v", err)
				}
			})
		})
	}
}

// TestWarmRestartAfterARestoreThatWasNoticed: the server was restored, the
// informer listed again, and then was at the very revision of its last snapshot,
// which is of another history and must be replaced.
func TestWarmRestartAfterARestoreThatWasNoticed(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour}
		w.put("a", "x", "1")
		past := w.srv.Revision()
		w.put("a", "lost", "1")
		_, stop := w.lives(snapshot, newView(t), nil)
		w.pass(time.Hour + time.Minute) // it is saved
		w.srv.RestoreTo(past)
		w.pass(20 * time.Minute) // it is noticed
		w.put("a", "y", "1")     // the revision of the snapshot
		w.pass(time.Minute)
		stop()
		v := newView(t)
		_, stop = w.lives(snapshot, v, nil)
		w.pass(20 * time.Minute)
		v.is(w.truth())
		stop()
	})
}

func TestSnapshotIsForOneNamespace(t *testing.T) {
	i := cache.New(client.Of[kube.Partial](nil, kube.ConfigMaps), options{Namespaces: []string{"a", "b"}, Snapshot: cache.Snapshot{Path: "never-written", Cluster: "c1"}})
	if err := i.Run(t.Context()); err == nil {
		t.Error("Run took two namespaces and a snapshot")
	}
}

func TestClusterID(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if id, err := cache.ClusterID(t.Context(), w.client); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("without the namespace: %q, %v", id, err)
		}
		w.srv.Put(kube.Namespaces, `{"metadata":{"name":"kube-system"}}`)
		if id, err := cache.ClusterID(t.Context(), w.client); err != nil || id == "" {
			t.Errorf("got %q, %v", id, err)
		}
	})
}

// TestWarmRestartTransformsWhatItLoads: a snapshot holds objects as JSON, whatever
// form they have in memory.
func TestWarmRestartTransformsWhatItLoads(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		for life := range 2 {
			var c compressed.Compressor
			i := cache.New(client.Of[compressed.Raw](w.client, kube.ConfigMaps), cache.Options[compressed.Raw]{
				Transform: c.Compress, OnError: func(err error) { t.Error(err) },
				Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"},
			})
			ctx, cancel := context.WithCancel(w.ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				i.Run(ctx)
			}()
			synctest.Wait()
			if got := c.Stats().Objects; got != 1 {
				t.Errorf("life %d: %d objects were packed, want 1", life, got)
			}
			o, ok := i.Store().Get(kube.Key{Namespace: "a", Name: "x"})
			if labels := o.GetLabels(); !ok || labels["v"] != "1" {
				t.Errorf("life %d: labels %v", life, labels)
			}
			cancel()
			<-ended
		}
	})
}
