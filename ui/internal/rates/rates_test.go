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

// TestIntoLeavesNoBucketEmpty between steps that have changes, and adds each change once.
func TestIntoLeavesNoBucketEmpty(t *testing.T) {
	var r Rates
	for n := range int64(90) {
		for range 100 {
			r.Add(n*step+n, history.Modified)
		}
	}
	r.Add(500, history.Added)
	for _, count := range []int{1, 7, 90, 120, 121, 900} {
		buckets, sum := make([]Counts, count), Counts{}
		r.Into(buckets, 0, 90*step)
		for i, b := range buckets {
			if b[1] == 0 {
				t.Errorf("%d buckets: number %d is empty", count, i)
			}
			for k, n := range b {
				sum[k] += n
			}
		}
		if sum != (Counts{1, 9000, 0}) {
			t.Errorf("%d buckets have %v changes, want 1, 9000, 0", count, sum)
		}
	}
	half := make([]Counts, 3) // from the middle of a step to the middle of another
	r.Into(half, step/2, 4*step-step/2)
	if diff := cmp.Diff([]Counts{{0, 100, 0}, {0, 100, 0}, {0, 150, 0}}, half); diff != "" {
		t.Error(diff)
	}
}
