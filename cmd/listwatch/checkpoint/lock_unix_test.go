//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestFileIsFreeOnceClosed, though a process that was just being started has a copy of
// its descriptor, as it does until it runs its program.
func TestFileIsFreeOnceClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	f, _ := opened(t, path)
	forked, err := syscall.Dup(int(f.file.Fd()))
	must(t, err)
	must(t, f.Close())
	f, _, err = Open(path, identity())
	must(t, err)
	must(t, f.Close())
	must(t, syscall.Close(forked))
}

// TestFileIsFreeOnceKilled: nobody unlocks for a process that is killed, and one that it
// was just starting, such as a hook, has a copy of its descriptor for a moment more.
func TestFileIsFreeOnceKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "c")
		f, _ := opened(t, path)
		forked, err := syscall.Dup(int(f.file.Fd()))
		must(t, err)
		must(t, f.file.Close())
		go func() {
			time.Sleep(300 * time.Millisecond)
			must(t, syscall.Close(forked))
		}()
		f, _, err = Open(path, identity())
		must(t, err)
		must(t, f.Close())
	})
}
