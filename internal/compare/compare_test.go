package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestListsWithoutKeys: an element that is removed is no change of those behind it.
func TestListsWithoutKeys(t *testing.T) {
	for _, test := range []struct{ old, now, want string }{
		{"get list watch", "list watch", "[0] get removed"},
		{"list watch", "get list watch", "[0] get added"},
		{"get list", "list watch", "[0] get removed, [1] watch added"},
		{"a b c", "a x c", "[1] b>x"},
		{"a b c", "a x y c", "[1] b>x, [2] y added"},
		{"a b", "b a", "[0] a removed, [1] a added"},
		{"a a", "a", "[1] a removed"},
		{"", "a", "[0] a added"},
		{"a b c d", "x b d", "[0] a>x, [2] c removed"},
	} {
		var got []string
		Objects(words(test.old), words(test.now), math.MaxInt, func(d Difference) bool {
			switch {
			case d.Added:
				got = append(got, fmt.Sprintf("%s %v added", d.Path.Element, d.New))
			case d.Removed:
				got = append(got, fmt.Sprintf("%s %v removed", d.Path.Element, d.Old))
			default:
				got = append(got, fmt.Sprintf("%s %v>%v", d.Path.Element, d.Old, d.New))
			}
			return true
		})
		if s := strings.Join(got, ", "); s != test.want {
			t.Errorf("%q to %q: %s, want %s", test.old, test.now, s, test.want)
		}
	}
}

// TestDifferencesMakeTheNewList of the old one: what is neither added nor changed in it are the
// elements of the old one that are neither removed nor changed, in their order.
func TestDifferencesMakeTheNewList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	list := func() []any {
		out := []any{}
		for range r.IntN(7) {
			out = append(out, string(rune('a'+r.IntN(4))))
		}
		return out
	}
	for range 5000 {
		old, now := list(), list()
		left := slices.Clone(old)
		fresh := map[string]any{}
		Objects(old, now, math.MaxInt, func(d Difference) bool {
			if !d.Added {
				i := slices.Index(left, d.Old)
				left = slices.Delete(left, i, i+1)
			}
			if !d.Removed {
				fresh[d.Path.Element] = d.New
			}
			return true
		})
		var kept []any
		for j, e := range now {
			if v, is := fresh[fmt.Sprintf("[%d]", j)]; !is {
				kept = append(kept, e)
			} else if v != e {
				t.Fatalf("%v to %v: [%d] is %v", old, now, j, v)
			}
		}
		at := 0
		for _, e := range old {
			if at < len(kept) && kept[at] == e {
				at++
			}
		}
		if at < len(kept) || len(kept) != len(left) {
			t.Fatalf("%v to %v: kept %v, left %v", old, now, kept, left)
		}
	}
}

// TestOrderOfElements is a difference, also where keys match them.
func TestOrderOfElements(t *testing.T) {
	named := func(s string) any {
		list := []any{}
		for _, w := range strings.Fields(s) {
			list = append(list, map[string]any{"name": w})
		}
		return map[string]any{"list": list}
	}
	for _, test := range []struct{ old, now, want string }{
		{"a b c", "a c b", "[order] a, b, c>a, c, b"},
		{"a b c", "c x b", "[name=a] removed, [name=x] added, [order] a, b, c>c, x, b"},
		{"a b c", "a c", "[name=b] removed"},
		{"a b", "x a b", "[name=x] added"},
	} {
		var got []string
		Objects(named(test.old), named(test.now), math.MaxInt, func(d Difference) bool {
			switch {
			case d.Added:
				got = append(got, d.Path.Element+" added")
			case d.Removed:
				got = append(got, d.Path.Element+" removed")
			default:
				got = append(got, fmt.Sprintf("%s %v>%v", d.Path.Element, d.Old, d.New))
			}
			return true
		})
		if s := strings.Join(got, ", "); s != test.want {
			t.Errorf("%q to %q: %s, want %s", test.old, test.now, s, test.want)
		}
	}
}

// TestNoDifferenceMeansEqual, of random objects that are much alike.
func TestNoDifferenceMeansEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(5); {
		case depth == 0 || n < 2:
			return []any{"a", "b", true, nil}[r.IntN(4)]
		case n == 2:
			m := map[string]any{}
			for range r.IntN(3) {
				m[[]string{"name", "type", "x"}[r.IntN(3)]] = value(depth - 1)
			}
			return m
		}
		list := []any{}
		for range r.IntN(4) {
			list = append(list, value(depth-1))
		}
		return list
	}
	equal := 0
	for range 50_000 {
		old, now := value(3), value(3)
		none := true
		Objects(old, now, 1+r.IntN(4), func(Difference) bool { none = false; return false })
		if same := reflect.DeepEqual(old, now); same != none {
			t.Fatalf("%v and %v are equal: %v, without a difference: %v", old, now, same, none)
		} else if same {
			equal++
		}
	}
	if equal < 1000 {
		t.Errorf("%d of the pairs are equal", equal)
	}
}

func words(s string) any {
	list := []any{}
	for _, w := range strings.Fields(s) {
		list = append(list, w)
	}
	return list
}
