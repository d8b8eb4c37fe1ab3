package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestSnapshotIsOfOneCollection: what changes which objects are listed, or in which
// form, makes another snapshot.
func TestSnapshotIsOfOneCollection(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.put("a", "y", "2")
		run := func(c client.Collection[kube.Partial]) (log []string, err error) {
			i := cache.New(c, options{Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}, OnError: func(e error) { err = e }})
			v := newView(t)
			i.Handle(v.take)
			ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
			defer cancel()
			i.Run(ctx)
			return v.log, err
		}
		first := w.maps.Where(kube.LabelsSelector(map[string]string{"v": "1"}), kube.FieldSelector{})
		second := w.maps.Where(kube.LabelsSelector(map[string]string{"v": "2"}), kube.FieldSelector{})
		third := second
		third.Accept = client.Accept{}
		for _, life := range []struct {
			of      client.Collection[kube.Partial]
			want    string
			foreign bool
		}{{first, "ADDED a/x initial", false}, {first, "ADDED a/x initial", false}, {second, "ADDED a/y initial", true}, {third, "ADDED a/y initial", true}} {
			log, err := run(life.of)
			if !slices.Equal(log, []string{life.want}) || errors.Is(err, cache.ErrSnapshotForeign) != life.foreign {
				t.Errorf("%v: %q, %v; want %s, foreign %t", life.of.Labels, log, err, life.want, life.foreign)
			}
		}
	})
}

// TestSnapshotBelongsToOneProcess: a second informer says who has it, and changes nothing.
func TestSnapshotBelongsToOneProcess(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		w.put("a", "x", "1")
		_, stop := w.lives(snapshot, newView(t), func(err error) { t.Error(err) })
		w.put("a", "y", "1")
		synctest.Wait()
		second := cache.New(w.maps, options{Snapshot: snapshot})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := second.Run(ctx)
		if want := fmt.Sprintf("process %d on ", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the second: %v, want %q", err, want)
		}
		if n := second.Store().Len(); n > 0 {
			t.Errorf("the second has %d objects", n)
		}
		stop()
		v := newView(t)
		_, stop = w.lives(snapshot, v, func(err error) { t.Error(err) })
		slices.Sort(v.log)
		v.delivered("ADDED a/x initial", "ADDED a/y initial")
		stop()
	})
}

// TestSnapshotOfAbandonedChangesIsBounded: loops that end with deletions that they did
// not acknowledge do not fill the memory; that some are dropped is reported.
func TestSnapshotOfAbandonedChangesIsBounded(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		snapshot := cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}
		const objects, kept = 4100, 4096
		for n := range objects {
			w.put("a", fmt.Sprintf("x%04d", n), "1")
		}
		var reported []error
		i, stop := w.lives(snapshot, newView(t), func(err error) { reported = append(reported, err) })
		enough := w.slowly(i, newView(t), cache.FIFOOptions{}, nil)
		for n := range objects {
			w.delete("a", fmt.Sprintf("x%04d", n))
		}
		synctest.Wait()
		enough()
		w.pass(10 * time.Minute)
		stop()
		if len(reported) != 1 || !strings.Contains(reported[0].Error(), "4 deletions") {
			t.Errorf("reported %v", reported)
		}
		v := newView(t)
		_, stop = w.lives(snapshot, v, nil)
		if len(v.log) != 2*kept {
			t.Errorf("%d deltas, want those of %d objects", len(v.log), kept)
		}
		stop()
	})
}
