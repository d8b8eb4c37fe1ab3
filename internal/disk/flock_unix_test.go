//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestLockIsFreeOnceReleased, though a process that was just being started has a copy of
// the descriptor, as it does until it runs its program.
func TestLockIsFreeOnceReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f := locked(t, path)
	forked, err := syscall.Dup(int(f.Fd()))
	must(t, err)
	unlock(f)
	unlock(locked(t, path))
	must(t, syscall.Close(forked))
}

// TestLockIsFreeOnceKilled: nobody unlocks for a process that is killed, and one that it
// was just starting, such as a hook, has a copy of its descriptor for a moment more.
func TestLockIsFreeOnceKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c")
		f := locked(t, path)
		forked, err := syscall.Dup(int(f.Fd()))
		must(t, err)
		must(t, f.Close())
		go func() {
			time.Sleep(300 * time.Millisecond)
			must(t, syscall.Close(forked))
		}()
		unlock(locked(t, path))
	})
}

func locked(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := openLocked(path)
	must(t, err)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
