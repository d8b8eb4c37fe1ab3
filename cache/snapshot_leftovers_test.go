package cache_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
)

// TestSnapshotLeavesFilesOfTheUserAlone: it removes what a killed process of its own
// left, and the oldest of those that it has set aside, and nothing that is only called
// alike.
func TestSnapshotLeavesFilesOfTheUserAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pods")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := []string{".pods.listwatch-2", "pods.bad-0", "pods.bad-luck", "pods.tmp-1", "pods.tmp-notes"}
	for _, name := range keep {
		write(name, "a user's")
	}
	write(".pods.listwatch-1", "")
	write(".pods.listwatch-3", "listwatch snapshot 9\nx")
	for range 5 {
		write("pods", "rubbish")
		if _, err := loadedFrom(path); !errors.Is(err, cache.ErrSnapshotDamaged) {
			t.Fatal(err)
		}
	}
	var got []string
	aside := 0
	for _, name := range files(t, path) {
		if name == "pods.bad-time" {
			aside++
			continue
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(keep, got); diff != "" || aside != 3 {
		t.Errorf("%d were set aside, want 3; files (-want +got):\n%s", aside, diff)
	}
}
