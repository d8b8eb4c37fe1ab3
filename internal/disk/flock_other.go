//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package disk

import "os"

// Flock does nothing: here a lock would keep readers off too, or there is none.
func Flock(*os.File) error { return nil }

// Funlock closes f.
func Funlock(f *os.File) error { return f.Close() }
