//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"errors"
	"fmt"
	"os"

	"github.com/listwatch/listwatch/internal/disk"
)

// lockFile makes the file ours until release, or the process is gone.
func lockFile(f *os.File) error {
	err := disk.Flock(f)
	switch {
	case errors.Is(err, disk.ErrHeld):
		return fmt.Errorf("%w by another process", ErrLocked)
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// release closes the file and lets others have it.
func release(f *os.File) error { return disk.Funlock(f) }
