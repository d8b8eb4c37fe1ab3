package print

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	for _, tt := range []struct{ name, old, now, want string }{
		{"nothing", `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2}]}`, ``},
		{"members", `{"a":1,"b":{"c":"x","d":null},"gone":[]}`, `{"a":2,"b":{"c":"x","d":0},"n.ew":{}}`, `.a 1 2;.b.d <nil> 0;-.gone [];+.n\.ew map[];`},
		{"another type", `{"a":[1]}`, `{"a":{"b":1}}`, `.a [1] map[b:1];`},
		{"by index", `{"a":[1,2,3]}`, `{"a":[1,5]}`, `.a[1] 2 5;-.a[2] 3;`},
		{"by index, longer", `{"a":["x"]}`, `{"a":["x","y"]}`, `+.a[1] y;`},
		{"by name, in another order", `{"c":[{"name":"a","v":1},{"name":"b","v":1}]}`, `{"c":[{"name":"b","v":1},{"name":"a","v":2}]}`, `.c[name=a].v 1 2;`},
		{"by type", `{"c":[{"type":"A"}]}`, `{"c":[{"type":"B"}]}`, `-.c[type=A] map[type:A];+.c[type=B] map[type:B];`},
		{"by two keys", `{"p":[{"ip":"1","port":1,"x":0},{"ip":"1","port":2,"x":0}]}`, `{"p":[{"ip":"1","port":2,"x":1},{"ip":"1","port":1,"x":0}]}`, `.p[ip=1,port=2].x 0 1;`},
		{"a key that is not unique", `{"c":[{"name":"a"},{"name":"a","v":1}]}`, `{"c":[{"name":"a"},{"name":"a","v":2}]}`, `.c[1].v 1 2;`},
		{"a key that one lacks", `{"c":[{"name":"a"},{"v":1}]}`, `{"c":[{"name":"a"},{"v":2}]}`, `.c[1].v 1 2;`},
		{"a list that was empty", `{"c":[]}`, `{"c":[{"name":"a"}]}`, `+.c[name=a] map[name:a];`},
	} {
		got := ""
		for _, d := range differences(tree(t, tt.old), tree(t, tt.now)) {
			switch {
			case d.added:
				got += fmt.Sprintf("+%s %v;", d.path, d.new)
			case d.removed:
				got += fmt.Sprintf("-%s %v;", d.path, d.old)
			default:
				got += fmt.Sprintf("%s %v %v;", d.path, d.old, d.new)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

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
		got := aligned(old, now)
		if d := differences(old, got); d != nil {
			t.Fatalf("aligned changed %v to %v", old, got)
		}
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
	if diff := cmp.Diff(any("x"), aligned("x", []any{})); diff != "" {
		t.Error(diff)
	}
}

func tree(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
