//go:build unix

package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestFileIsSyncedInTheOrderThatSurvivesAPowerLoss: what replaces the log is on the disk
// as a whole before it has the name, and the name before anything else is written.
func TestFileIsSyncedInTheOrderThatSurvivesAPowerLoss(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _ := opened(t, path)
	var did []string
	inPlace := func(file *os.File) bool {
		a, err := file.Stat()
		must(t, err)
		b, err := os.Stat(path)
		must(t, err)
		return os.SameFile(a, b)
	}
	var last *os.File
	f.sync = func(file *os.File) error {
		last = file
		what := "the file"
		if !inPlace(file) {
			what = "another file"
		}
		b, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<40))
		must(t, err)
		whole := filepath.Join(t.TempDir(), "c")
		must(t, os.WriteFile(whole, b, 0o600))
		g, states := opened(t, whole)
		closed(t, g)
		did = append(did, fmt.Sprintf("%s, of %d objects", what, len(states[0].Objects)))
		return nil
	}
	f.syncDir = func(dir string) error {
		did = append(did, fmt.Sprintf("the folder, with the file just synced in place: %t", dir == filepath.Dir(path) && inPlace(last)))
		return nil
	}
	put(t, f, 0, pod(t, "shop", "a", 5, ""))
	must(t, f.Commit())
	must(t, f.Sync())
	must(t, f.Sync()) // of nothing new
	for n := 6; len(did) < 2; n++ {
		put(t, f, 0, pod(t, "shop", "b", n, ""))
		must(t, f.Commit())
	}
	must(t, f.Sync()) // all of it was
	want := []string{"the file, of 1 objects", "another file, of 2 objects", "the folder, with the file just synced in place: true"}
	if diff := gocmp.Diff(want, did); diff != "" {
		t.Errorf("synced (-want +got):\n%s", diff)
	}
	closed(t, f)
}

// TestFileNoticesThatItWasTakenAway, at the latest when it is to be synced, also where
// there is nothing to sync.
func TestFileNoticesThatItWasTakenAway(t *testing.T) {
	for name, do := range map[string]func(path string) error{
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		f, _ := opened(t, filepath.Join(t.TempDir(), "c"))
		must(t, f.Sync())
		must(t, do(f.path))
		if err := f.Sync(); !errors.Is(err, ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
		put(t, f, 0, pod(t, "shop", "a", 5, ""))
		if err := f.Commit(); !errors.Is(err, ErrLost) {
			t.Errorf("%s: it goes on: %v", name, err)
		}
		if err := f.Close(); !errors.Is(err, ErrLost) {
			t.Errorf("%s: close: %v", name, err)
		}
	}
}
