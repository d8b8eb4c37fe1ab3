package cache_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestTransformThatFailsOfASnapshot: the object is left out, as one of a watch is, and so is its
// deletion. The deletions of the meantime are reported all the same.
func TestTransformThatFailsOfASnapshot(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"bad", "gone", "kept", "lost"} {
			w.put("a", name, "1")
		}
		var failing atomic.Bool
		var errs, got []string
		life := func() (stop func()) {
			errs, got = nil, nil
			i := cache.New(w.maps, options{
				Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"},
				Transform: func(o kube.Partial) (kube.Partial, error) {
					if failing.Load() && (o.Name == "bad" || o.Name == "lost") {
						return o, errors.New("not this one")
					}
					return o, nil
				},
				OnError: func(err error) { errs = append(errs, err.Error()) },
			})
			i.Handle(func(d cache.Delta[kube.Partial]) { got = append(got, fmt.Sprint(d.Type, " ", d.Key)) })
			stop = w.start(i)
			synctest.Wait()
			return stop
		}
		life()()
		w.delete("a", "gone")
		failing.Store(true)
		stop := life()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"ADDED a/gone", "ADDED a/kept", "DELETED a/gone"}, got); diff != "" {
			t.Errorf("handlers (-want +got):\n%s", diff)
		}
		if all := strings.Join(errs, ""); len(errs) != 2 || strings.Count(all, "not this one") != 2 || strings.Contains(all, "snapshot") {
			t.Errorf("reported %q, want the transformations", errs)
		}
		failing.Store(false)
		w.delete("a", "lost")
		synctest.Wait()
		stop()
		if len(got) > 3 {
			t.Errorf("%q is delivered of an object that was left out", got[3:])
		}
		stop = life()
		defer stop()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"ADDED a/bad", "ADDED a/kept"}, got); diff != "" || len(errs) > 0 {
			t.Errorf("once it succeeds again: %q, handlers (-want +got):\n%s", errs, diff)
		}
	})
}

// TestTransformThatRenames: an object without its name, to leave it out, would take the
// place of all others without theirs.
func TestTransformThatRenames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"x", "y", "z"} {
			w.put("a", name, "1")
		}
		var errs []string
		i := cache.New(w.maps, options{
			Transform: func(o kube.Partial) (kube.Partial, error) {
				if o.Name == "x" {
					return o, nil
				}
				return kube.Partial{}, nil
			},
			OnError: func(err error) { errs = append(errs, err.Error()) },
		})
		w.run(i.Run)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, ok := i.Store().Get(kube.Key{Namespace: "a", Name: "x"}); !ok || i.Store().Len() != 1 {
			t.Errorf("%d objects, want a/x", i.Store().Len())
		}
		slices.Sort(errs)
		want := func(name string) string {
			return fmt.Sprintf("object %q of 0 bytes: transform: the name became \"\": do not rename objects; to leave one out, use a selector or return an error", "a/"+name)
		}
		if diff := cmp.Diff([]string{want("y"), want("z")}, errs); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
}

// TestTransformThatReturnsNil: neither an object nor an error, from a server and from a snapshot.
func TestTransformThatReturnsNil(t *testing.T) {
	type partial = *kube.Partial
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		for _, left := range []int{2, 1, 0} { // objects with a result: its snapshot has more
			var errs []string
			i := cache.New(client.Of[partial](w.client, kube.ConfigMaps), cache.Options[partial]{
				Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"},
				Transform: func(o partial) (partial, error) {
					if strings.Contains("xy"[:left], o.Name) {
						return o, nil
					}
					return nil, nil
				},
				OnError: func(err error) { errs = append(errs, err.Error()) },
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- i.Run(ctx) }()
			if err := i.WaitSynced(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.put("a", "z", "1")
			w.delete("a", "z")
			w.pass(time.Second)
			if n := i.Store().Len(); n != left {
				t.Errorf("%d objects, want %d", n, left)
			}
			if odd := slices.DeleteFunc(slices.Clone(errs), func(s string) bool { return strings.Contains(s, "transform: it returned nil") }); len(errs) == 0 || len(odd) > 0 {
				t.Errorf("reported %q", errs)
			}
			cancel()
			<-ended
		}
	})
}

// TestTransformIsCalledOnceAtATime: it may remember what it has seen, though several
// namespaces are read at once.
func TestTransformIsCalledOnceAtATime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var namespaces []string
		for n := range 20 {
			namespaces = append(namespaces, fmt.Sprint("n", n))
			w.put(namespaces[n], "x", "1")
		}
		var calls atomic.Int32
		i := cache.New(w.maps, options{Namespaces: namespaces, Transform: func(o kube.Partial) (kube.Partial, error) {
			if n := calls.Add(1); n > 1 {
				t.Errorf("%d calls at a time", n)
			}
			time.Sleep(time.Millisecond)
			calls.Add(-1)
			return o, nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.run(i.Run)
		if err := i.WaitSynced(ctx); err != nil || i.Store().Len() != 20 {
			t.Errorf("%v, %d objects", err, i.Store().Len())
		}
	})
}
