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

// cpu reports the processor time of each of n operations since start.
func cpu(b *testing.B, start time.Duration, n int) {
	b.Helper()
	b.ReportMetric(float64((spent(b)-start).Nanoseconds())/float64(n), "cpu-ns/op")
}
