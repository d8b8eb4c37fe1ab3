//go:build unix

package apitest_test

import (
	"syscall"
	"testing"
	"time"
)

// spent is the processor time of this process so far. Benchmarks report it beside
// the time of the clock, which other programs on the machine stretch.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
