//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile makes the file ours until release, or the process is gone.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("%w by another process", ErrLocked)
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// release closes the file and lets others have it. Closing alone is not enough: a
// process that is being started, such as a hook, has a copy until its program runs.
func release(f *os.File) error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return f.Close()
}
