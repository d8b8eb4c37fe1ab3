package delta

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzDelta: a text comes back from its delta, and what is no delta is an error.
func FuzzDelta(f *testing.F) {
	f.Add("", "", "")
	f.Add(`{"metadata":{"name":"web","resourceVersion":"1000"}}`, `{"metadata":{"name":"web","resourceVersion":"10001"}}`, "\x05\x00\x05\x00")
	f.Add(strings.Repeat("0123456789", 900), strings.Repeat("9876543210", 900), "\x01\xff\xff\xff\xff\x0f")
	f.Fuzz(func(t *testing.T, base, text, damaged string) {
		var e Encoder
		got, err := Decode(base, e.Encode(nil, base, text))
		if got != text || err != nil {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
		if got, err := Decode(base, []byte(damaged)); err == nil && len(got) > len(damaged)*max(1, len(base)) {
			t.Errorf("%q of %q makes %d bytes", damaged, base, len(got))
		}
	})
}

// TestDelta: random edits of a text come back, and take about what they change.
func TestDelta(t *testing.T) {
	var e Encoder
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		for b.Len() < 100+rng.IntN(30_000) {
			fmt.Fprintf(&b, `{"name":"n%d","value":%d},`, rng.IntN(1000), rng.IntN(100_000))
		}
		base := b.String()
		text, edits := base, rng.IntN(5)
		for range edits {
			at := rng.IntN(len(text))
			text = text[:at] + fmt.Sprint(rng.Int()) + text[min(len(text), at+rng.IntN(200)):]
		}
		made := e.Encode(nil, base, text)
		got, err := Decode(base, made)
		if got != text || err != nil {
			t.Fatalf("seed %d: %v, and another text", seed, err)
		}
		if most := 10 + edits*100; len(made) > most {
			t.Errorf("seed %d: %d bytes for %d edits of %d, want at most %d", seed, len(made), edits, len(base), most)
		}
		for range 20 {
			damaged := []byte(string(made))
			damaged[rng.IntN(len(damaged))] ^= byte(1 + rng.IntN(255))
			_, _ = Decode(base, damaged[:rng.IntN(len(damaged)+1)])
		}
	}
}
