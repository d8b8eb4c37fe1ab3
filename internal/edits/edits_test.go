package edits

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
)

// TestEditsLeadToTheOtherText, of random texts with lines that recur.
func TestEditsLeadToTheOtherText(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		text := func() string {
			var b strings.Builder
			for range r.IntN(30) {
				fmt.Fprintf(&b, "%d%s", r.IntN(20), []string{"\n", "\n", "\n", "", "\r\n"}[r.IntN(5)])
			}
			return b.String()
		}
		a, b := text(), text()
		if got, err := udiff.Apply(a, Of(a, b)); err != nil || got != b {
			t.Fatalf("seed %d: %q to %q: %q, %v", seed, a, b, got, err)
		}
		if a == b {
			continue
		}
		if s, err := udiff.ToUnified("", "", a, Of(a, b), 0); err != nil || strings.Count(s, "\n+") > strings.Count(b, "\n")+2 {
			t.Fatalf("seed %d: %v\n%s", seed, err, s)
		}
	}
}
