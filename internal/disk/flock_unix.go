//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// patience is how long Flock waits. A process that is killed unlocks nothing, and one
// that it was just starting has a copy of the descriptor until it runs its program.
const patience = time.Second

// Flock locks f until it is unlocked or closed. It fails with ErrHeld where another
// process holds the lock for longer than a second.
func Flock(f *os.File) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if !time.Now().Before(end) {
			return ErrHeld
		}
	}
}

// Funlock unlocks f and closes it. Closing alone is not enough: a process that is being
// started has a copy, see Flock.
func Funlock(f *os.File) error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	return f.Close()
}
