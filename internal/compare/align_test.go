package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is aligned holds what it held, and has the order of what it is aligned with.
func TestAlignedOnlyMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	list := func() []any {
		var out []any
		for _, i := range r.Perm(5)[:r.IntN(6)] {
			out = append(out, map[string]any{"name": fmt.Sprint("n", i), "v": r.IntN(2), "in": []any{map[string]any{"type": "T"}}})
		}
		return out
	}
	for range 2000 {
		old, now := map[string]any{"l": list(), "x": 1}, map[string]any{"l": list()}
		got := Align(old, now)
		Objects(old, got, math.MaxInt, func(d Difference) bool {
			if d.Order() {
				return true
			}
			t.Fatalf("aligned changed %v to %v", old, got)
			return false
		})
		kept := func(v any, other any) string {
			names := ""
			list, _ := v.(map[string]any)["l"].([]any)
			for _, e := range list {
				id := identity(e, []string{"name"})
				if strings.Contains(fmt.Sprint(other), "name:"+id[6:len(id)-1]+" ") {
					names += id
				}
			}
			return names
		}
		if a, b := kept(got, now), kept(now, old); a != b {
			t.Fatalf("%v aligned with %v: %v", old, now, got)
		}
	}
	if diff := cmp.Diff(any("x"), Align("x", []any{})); diff != "" {
		t.Error(diff)
	}
}
