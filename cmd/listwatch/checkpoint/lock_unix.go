//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package checkpoint

import (
	"errors"
	"fmt"
	"os"

	"github.com/listwatch/listwatch/internal/disk"
)

// lockFile locks the file until release, or until the process ends.
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

// release closes the file, which unlocks it.
func release(f *os.File) error { return disk.Funlock(f) }
