package cache_test

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seed = flag.Uint64("seed", 0, "of what chance decides in tests of stops; 0 = a new one, which is printed")

// newDice returns what decides, and prints the flag that repeats it.
func newDice(t *testing.T) *rand.Rand {
	t.Helper()
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	t.Logf("-seed %d", n)
	return rand.New(rand.NewPCG(n, 0))
}
