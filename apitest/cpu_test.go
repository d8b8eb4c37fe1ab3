package apitest_test

import (
	"testing"
	"time"
)

// cpu reports the processor time of each of n operations since start.
func cpu(b *testing.B, start time.Duration, n int) {
	b.Helper()
	b.ReportMetric(float64((spent(b)-start).Nanoseconds())/float64(n), "cpu-ns/op")
}
