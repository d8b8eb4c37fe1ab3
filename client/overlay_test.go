package client

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tree(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOverlay(t *testing.T) {
	for name, c := range map[string]struct{ all, before, after, want string }{
		"nothing changed":      {`{"a":1,"x":9}`, `{"a":1,"z":null}`, `{"a":1,"z":null}`, `{"a":1,"x":9}`},
		"a member":             {`{"a":1,"x":9}`, `{"a":1}`, `{"a":2}`, `{"a":2,"x":9}`},
		"a member more":        {`{"x":9}`, `{}`, `{"a":2}`, `{"a":2,"x":9}`},
		"a member less":        {`{"a":1,"x":9}`, `{"a":1}`, `{}`, `{"x":9}`},
		"deep":                 {`{"a":{"b":1,"x":9}}`, `{"a":{"b":1}}`, `{"a":{"b":2}}`, `{"a":{"b":2,"x":9}}`},
		"scalars of a list":    {`[1,2]`, `[1,2]`, `[1,3]`, `[1,3]`},
		"by name, moved":       {`[{"name":"a","x":1},{"name":"b","x":2}]`, `[{"name":"a"},{"name":"b"}]`, `[{"name":"b"},{"name":"a"}]`, `[{"name":"b","x":2},{"name":"a","x":1}]`},
		"by name, changed":     {`[{"name":"a","i":1,"x":1}]`, `[{"name":"a","i":1}]`, `[{"name":"n","i":0},{"name":"a","i":2}]`, `[{"name":"n","i":0},{"name":"a","i":2,"x":1}]`},
		"another name":         {`[{"name":"a","x":1}]`, `[{"name":"a"}]`, `[{"name":"b"}]`, `[{"name":"b"}]`},
		"without a key":        {`[{"i":1,"x":1}]`, `[{"i":1}]`, `[{"i":2}]`, `[{"i":2,"x":1}]`},
		"without a key, fewer": {`[{"i":1,"x":1},{"i":2,"x":2}]`, `[{"i":1},{"i":2}]`, `[{"i":2}]`, `[{"i":2,"x":2}]`},
		"equal elements":       {`[{"i":1,"x":1},{"i":1,"x":2}]`, `[{"i":1},{"i":1}]`, `[{"i":1},{"i":1},{"i":1}]`, `[{"i":1,"x":1},{"i":1,"x":2},{"i":1}]`},
		"emptied":              {`{"a":[{"x":1}]}`, `{"a":[{}]}`, `{"a":[]}`, `{"a":[]}`},
		"another shape":        {`{"a":{"x":1}}`, `{"a":{}}`, `{"a":[1]}`, `{"a":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := overlay(tree(t, c.all), tree(t, c.before), tree(t, c.after))
			if diff := cmp.Diff(tree(t, c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever changes in the view is changed in the whole, and the rest stays.
func TestOverlayShowsTheChangeAndKeepsTheRest(t *testing.T) {
	for seed := range uint64(3000) {
		dice := rand.New(rand.NewPCG(seed, 1))
		all := randomTree(dice, 4)
		before := hide(all)
		after := hide(mutate(dice, all))
		got := overlay(all, before, after)
		if diff := cmp.Diff(after, hide(got)); diff != "" {
			t.Fatalf("seed %d: the change is not seen (-want +got):\n%s", seed, diff)
		}
		if reflect.DeepEqual(before, after) && !reflect.DeepEqual(all, got) {
			t.Fatalf("seed %d: nothing changed, and it is another:\n%s", seed, cmp.Diff(all, got))
		}
	}
}

// randomTree is an object of which the members "x" and "y" are not in the view.
func randomTree(dice *rand.Rand, depth int) any {
	switch kind := dice.IntN(4); {
	case depth == 0 || kind == 0:
		return float64(dice.IntN(3))
	case kind == 1:
		list := make([]any, dice.IntN(4))
		for i := range list {
			list[i] = randomTree(dice, depth-1)
		}
		return list
	default:
		m := map[string]any{}
		for _, name := range []string{"name", "a", "b", "x", "y"} {
			if dice.IntN(2) == 0 {
				m[name] = randomTree(dice, depth-1)
			}
		}
		return m
	}
}

func mutate(dice *rand.Rand, v any) any {
	if dice.IntN(6) == 0 {
		return randomTree(dice, 2)
	}
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for _, name := range []string{"name", "a", "b", "x", "y"} {
			if in, ok := v[name]; ok && dice.IntN(8) > 0 {
				m[name] = mutate(dice, in)
			}
		}
		return m
	case []any:
		list := []any{}
		for _, in := range v {
			if dice.IntN(6) > 0 {
				list = append(list, mutate(dice, in))
			}
		}
		dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	return v
}

// hide returns what a struct without x and y would show.
func hide(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, in := range v {
			if name != "x" && name != "y" {
				m[name] = hide(in)
			}
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = hide(v[i])
		}
		return list
	}
	return v
}

func TestMergeDiff(t *testing.T) {
	got, lists := mergeDiff(tree(t, `{"a":1,"b":{"c":1,"d":2},"e":[1],"g":1}`).(map[string]any), tree(t, `{"a":1,"b":{"c":2},"e":[1,2],"f":3}`).(map[string]any))
	if diff := cmp.Diff(tree(t, `{"b":{"c":2,"d":null},"e":[1,2],"f":3,"g":null}`), any(got)); diff != "" || !lists {
		t.Errorf("lists %v (-want +got):\n%s", lists, diff)
	}
	if _, lists := mergeDiff(tree(t, `{"a":1,"e":[1]}`).(map[string]any), tree(t, `{"a":2,"e":[1]}`).(map[string]any)); lists {
		t.Error("an unchanged list counts")
	}
}
