package client

import (
	"math"
	"testing"
	"time"
)

func TestJitteredSaturates(t *testing.T) {
	for _, d := range []time.Duration{1, time.Second, time.Hour, 90 * 365 * 24 * time.Hour, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64} {
		for _, dice := range []float64{0, 0.25, 0.5, 0.75, 0.999999} {
			got := jittered(d, dice)
			if low, high := float64(d)*0.79-2, float64(d)*1.21+2; float64(got) < low || float64(got) > high || got <= 0 && d > 5 {
				t.Errorf("jittered(%v, %v) is %v", d, dice, got)
			}
		}
	}
	if got := jittered(math.MaxInt64, 0.9); got != math.MaxInt64 {
		t.Errorf("%v, want the longest", got)
	}
}
