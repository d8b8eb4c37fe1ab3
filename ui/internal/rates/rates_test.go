package rates

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/ui/internal/history"
)

// TestRates: what is added is in its minute and in its bucket, and six hours are kept.
func TestRates(t *testing.T) {
	const minute, hour = 60_000, 3_600_000
	var r Rates
	r.Add(hour, history.Added)
	for range 3 {
		r.Add(hour+29*minute, history.Modified)
	}
	r.Add(hour+29*minute, history.Gap)
	want := make([]int64, 30)
	want[0], want[29] = 1, 3
	if diff := cmp.Diff(want, r.PerMinute(hour+29*minute)); diff != "" {
		t.Error(diff)
	}
	buckets := make([]Counts, 2)
	r.Into(buckets, hour, hour+30*minute)
	if diff := cmp.Diff([]Counts{{1, 0, 0}, {0, 3, 0}}, buckets); diff != "" {
		t.Error(diff)
	}
	for n := range int64(2 * maxSteps) {
		r.Add(10*hour+n*step, history.Deleted)
	}
	if len(r) > maxSteps+1 {
		t.Errorf("%d steps are kept, want at most %d", len(r), maxSteps)
	}
}
