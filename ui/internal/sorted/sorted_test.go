package sorted

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSorted: what is left of random rows after others came and some went is what is
// sorted as a whole.
func TestSorted(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 2))
		all := rng.Perm(40)
		rows, fresh := slices.Sorted(slices.Values(all[:rng.IntN(20)])), slices.Clone(all[20:20+rng.IntN(20)])
		want := slices.Concat(rows, fresh)
		slices.Sort(want)
		rows = Insert(rows, fresh, cmp.Compare)
		if !slices.Equal(rows, want) {
			t.Fatalf("seed %d: Insert made %v, want %v", seed, rows, want)
		}
		var places, left []int
		for n, v := range rows {
			if rng.IntN(3) == 0 {
				places = append(places, n)
			} else {
				left = append(left, v)
			}
		}
		rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		if rows = Remove(rows, places); !slices.Equal(rows, left) {
			t.Fatalf("seed %d: Remove left %v, want %v", seed, rows, left)
		}
		for at := range rows {
			for v := range 40 {
				if slices.Contains(rows, v) {
					continue
				}
				changed := slices.Clone(rows)
				changed[at] = v
				if got := Fits(rows, at, v, cmp.Compare); got != slices.IsSorted(changed) {
					t.Fatalf("seed %d: Fits(%v, %d, %d) is %v", seed, rows, at, v, got)
				}
			}
		}
	}
}
