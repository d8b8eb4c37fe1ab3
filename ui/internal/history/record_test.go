package history

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
)

// TestStatesAreReadAsTheyWere: all that is known of a state, with more, fewer and other
// cells than the one after it, whatever the budget has dropped.
func TestStatesAreReadAsTheyWere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string { return []string{"", "a", "Running", "→ 1/1", fmt.Sprint(rng.IntN(3))}[rng.IntN(5)] }
	for _, budget := range []int64{0, 3000, 1 << 30} {
		s, l := New(budget), new(Life)
		var want []State
		for n := range 300 {
			cells := make([]string, rng.IntN(5))
			for i := range cells {
				cells[i] = text()
			}
			st := State{Pos: int64(n), At: int64(1000 - n%7), Op: Op(rng.IntN(4)), By: text(), Revision: text(), Cells: archive.RowOf(cells...), First: rng.IntN(2) == 0, Inferred: rng.IntN(2) == 0}
			raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"name":"a","resourceVersion":"%d"}}`, n))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Add(l, st, compressed.Of(raw), raw.JSON()); err != nil {
				t.Fatal(err)
			}
			want = append(want, st)
		}
		got, dropped := s.States(l)
		if diff := cmp.Diff(want[dropped:], got); diff != "" {
			t.Errorf("budget %d, %d dropped: %s", budget, dropped, diff)
		}
		if budget > 3000 && dropped > 0 || budget <= 3000 && dropped == 0 {
			t.Errorf("budget %d: %d dropped", budget, dropped)
		}
	}
}
