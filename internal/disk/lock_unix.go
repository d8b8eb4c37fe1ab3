//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := Flock(f); {
	case errors.Is(err, ErrHeld):
		_ = f.Close() // nothing was written
		return nil, &LockedError{path, holder(path)}
	case err != nil:
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

func unlock(f *os.File) { _ = Funlock(f) }
