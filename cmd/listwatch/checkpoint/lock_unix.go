//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile makes the file ours until it is closed, or the process is gone.
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
