package cache_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
)

// crashed returns a folder with what a process that is killed now would leave.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(to, "maps.lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return to
}

// TestJournalDeliversTheDeletionOfWhatWasNewSinceTheSnapshot: objects were delivered, the
// process was killed before it saved them, they went, and history with them.
func TestJournalDeliversTheDeletionOfWhatWasNewSinceTheSnapshot(t *testing.T) {
	for _, file := range []string{"/maps", "/./maps", "//maps"} { // however the path is written
		t.Run(file, func(t *testing.T) { deliversDeletionsOf(t, file) })
	}
}

func deliversDeletionsOf(t *testing.T, file string) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		at := func(dir string) cache.Snapshot {
			return cache.Snapshot{Path: dir + file, Cluster: "c1", Every: time.Hour}
		}
		w.put("a", "old", "1")
		w.put("a", "renewed", "1")
		_, stop := w.lives(at(dir), newView(t), func(err error) { t.Error(err) })
		stop()
		_, stop = w.lives(at(dir), newView(t), func(err error) { t.Error(err) })
		w.put("a", "young", "1")
		w.put("a", "stays", "1")
		w.delete("a", "renewed")
		w.put("a", "renewed", "2")
		synctest.Wait()
		left := crashed(t, dir)
		w.delete("a", "young")
		w.delete("a", "old")
		stop()
		w.srv.Expire()

		v := newView(t)
		_, stop = w.lives(at(left), v, func(err error) { t.Error(err) })
		w.pass(time.Minute)
		v.is(w.truth())
		slices.Sort(v.log)
		v.delivered("ADDED a/old initial", "ADDED a/renewed initial", "ADDED a/renewed initial", "ADDED a/stays initial", "ADDED a/young initial",
			"DELETED a/old inferred", "DELETED a/renewed inferred", "DELETED a/young inferred")
		stop()
		if left, _ := filepath.Glob(filepath.Join(left, "*.journal-*")); len(left) > 0 {
			t.Errorf("%q is left after a snapshot", left)
		}
		v = newView(t)
		_, stop = w.lives(at(left), v, func(err error) { t.Error(err) })
		slices.Sort(v.log)
		v.delivered("ADDED a/renewed initial", "ADDED a/stays initial")
		stop()
	})
}

// TestJournalStaysUntilItsSnapshotIsOnTheDisk: a snapshot that cannot be written stands
// for no journal.
func TestJournalStaysUntilItsSnapshotIsOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		at := func(dir string) cache.Snapshot {
			return cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Minute}
		}
		path, aside := filepath.Join(dir, "maps"), filepath.Join(dir, "aside")
		w.put("a", "old", "1")
		_, stop := w.lives(at(dir), newView(t), func(err error) { t.Error(err) })
		stop()
		failed := false
		_, stop = w.lives(at(dir), newView(t), func(error) { failed = true })
		w.put("a", "young", "1")
		synctest.Wait()
		move(t, path, aside)
		if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil { // nothing is renamed to that
			t.Fatal(err)
		}
		w.pass(5 * time.Minute)
		if !failed {
			t.Error("a snapshot was written over a folder")
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		move(t, aside, path)
		left := crashed(t, dir)
		w.delete("a", "young")
		stop()
		w.srv.Expire()

		v := newView(t)
		_, stop = w.lives(at(left), v, func(err error) { t.Error(err) })
		slices.Sort(v.log)
		v.delivered("ADDED a/old initial", "ADDED a/young initial", "DELETED a/young inferred")
		stop()
	})
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestJournalOfAProcessThatNeverSaved: it was killed before its first snapshot.
func TestJournalOfAProcessThatNeverSaved(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		_, stop := w.lives(cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}, newView(t), func(err error) { t.Error(err) })
		left := crashed(t, dir)
		stop()
		w.delete("a", "x")
		w.put("a", "y", "2")

		v := newView(t)
		i, stop := w.lives(cache.Snapshot{Path: filepath.Join(left, "maps"), Cluster: "c1"}, v, func(err error) { t.Error(err) })
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.is(w.truth())
		if got := v.log[2:]; !cmp.Equal(got, []string{"MODIFIED a/y initial", "DELETED a/x inferred"}) {
			t.Errorf("got %q after what was in the journal", got)
		}
		stop()
	})
}

// TestJournalOfAHistoryThatIsLost: the server was restored while the process was
// down, to a state after the snapshot and before what the journal has.
func TestJournalOfAHistoryThatIsLost(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		at := func(dir string) cache.Snapshot {
			return cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour}
		}
		w.put("a", "x", "1")
		_, stop := w.lives(at(dir), newView(t), func(err error) { t.Error(err) })
		stop()
		_, stop = w.lives(at(dir), newView(t), func(err error) { t.Error(err) })
		w.srv.Tick()
		past := w.srv.Revision()
		w.put("a", "lost", "1")
		w.delete("a", "x")
		w.put("a", "x", "2")
		synctest.Wait()
		left := crashed(t, dir)
		stop()
		w.srv.RestoreTo(past)

		v := newView(t)
		_, stop = w.lives(at(left), v, nil)
		w.pass(time.Minute)
		v.is(w.truth())
		stop()
	})
}

// TestJournalMayEndAnywhere: the process was killed while it wrote.
func TestJournalMayEndAnywhere(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		_, stop := w.lives(cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}, newView(t), func(err error) { t.Error(err) })
		for _, name := range []string{"x", "y", "z"} {
			w.put("a", name, "1")
			synctest.Wait()
		}
		left := crashed(t, dir)
		if info, err := os.Stat(filepath.Join(dir, "maps.journal-000000001")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		stop()
		for _, name := range []string{"x", "y", "z"} {
			w.delete("a", name)
		}
		files, err := filepath.Glob(filepath.Join(left, "maps.journal-*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		whole, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		delivered := 0
		for size := 0; size <= len(whole); size += 7 {
			if err := os.WriteFile(files[0], whole[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			life := crashed(t, left)
			v := newView(t)
			_, stop := w.lives(cache.Snapshot{Path: filepath.Join(life, "maps"), Cluster: "c1"}, v, func(err error) { t.Errorf("cut to %d bytes: %v", size, err) })
			v.is(nil)
			deleted := 0
			for _, line := range v.log {
				if strings.HasPrefix(line, "DELETED") {
					deleted++
				}
			}
			if deleted < delivered || deleted > 3 {
				t.Errorf("cut to %d bytes: %d deletions after %d", size, deleted, delivered)
			}
			delivered = deleted
			stop()
		}
		if delivered < 2 {
			t.Errorf("%d deletions were delivered at last", delivered)
		}
	})
}

// TestJournalLeftBesideTheSnapshotThatStandsForIt: the process was killed after the
// snapshot was renamed, and before the journal that is in it was removed.
func TestJournalLeftBesideTheSnapshotThatStandsForIt(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		at := func(dir string) cache.Snapshot {
			return cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour}
		}
		w.put("a", "stays", "1")
		_, stop := w.lives(at(dir), newView(t), func(err error) { t.Error(err) })
		w.put("a", "short", "1")
		w.put("a", "renewed", "1")
		synctest.Wait()
		w.delete("a", "short")
		w.delete("a", "renewed")
		synctest.Wait()
		journals := crashed(t, dir)
		stop() // saves, and removes the journal
		if err := os.CopyFS(dir, os.DirFS(journals)); err != nil {
			t.Fatal(err)
		}
		v := newView(t)
		_, stop = w.lives(at(dir), v, func(err error) { t.Error(err) })
		w.pass(time.Minute)
		v.is(w.truth())
		stop()
	})
}

// TestJournalThatIsDamagedIsSetAside: what is before the damage counts.
func TestJournalThatIsDamagedIsSetAside(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		_, stop := w.lives(cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1"}, newView(t), func(err error) { t.Error(err) })
		for _, name := range []string{"x", "y"} {
			w.put("a", name, "1")
			synctest.Wait()
		}
		left := crashed(t, dir)
		stop()
		path := filepath.Join(left, "maps.journal-000000001")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-20] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		w.delete("a", "x")
		w.delete("a", "y")
		var errs []string
		v := newView(t)
		_, stop = w.lives(cache.Snapshot{Path: filepath.Join(left, "maps"), Cluster: "c1"}, v, func(err error) { errs = append(errs, err.Error()) })
		v.delivered("ADDED a/x initial", "DELETED a/x inferred")
		stop()
		if len(errs) != 1 || !strings.Contains(errs[0], "moved to "+path+".bad-") {
			t.Errorf("got %q", errs)
		}
		if aside, err := filepath.Glob(path + ".bad-*"); len(aside) != 1 {
			t.Errorf("aside are %q, %v", aside, err)
		}
	})
}

// TestJournalThatCannotBeWrittenIsReported: the changes are delivered all the same.
func TestJournalThatCannotBeWrittenIsReported(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		missing := filepath.Join(dir, "missing")
		var errs []string
		v := newView(t)
		_, stop := w.lives(cache.Snapshot{Path: filepath.Join(missing, "maps"), Cluster: "c1"}, v, func(err error) { errs = append(errs, err.Error()) })
		w.put("a", "x", "1")
		w.put("a", "y", "1")
		synctest.Wait()
		v.is(w.truth())
		if len(errs) != 2 || !strings.Contains(errs[0], "cannot lock it against other processes") || !strings.Contains(errs[1], "are not written until the next snapshot") {
			t.Errorf("got %q", errs)
		}
		if err := os.Mkdir(missing, 0o700); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Minute) // a snapshot
		w.put("a", "z", "1")
		synctest.Wait()
		if files, _ := filepath.Glob(filepath.Join(missing, "maps.journal-*")); len(files) != 1 {
			t.Errorf("%q afterwards", files)
		}
		stop()
	})
}
