package print

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
		{"by path", `{"p":[{"path":"/a","x":0},{"path":"/b"}]}`, `{"p":[{"path":"/b"},{"path":"/a","x":1}]}`, `.p[path=/a].x 0 1;`},
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

// TestManyChangesAreShownOneByOne: 300 changed values among 3,000, each with its own lines.
func TestManyChangesAreShownOneByOne(t *testing.T) {
	object := func(every string) string {
		var b strings.Builder
		for n := range 3000 {
			if value := fmt.Sprint(n); n%10 == 0 {
				fmt.Fprintf(&b, `,"k%d":%q`, n, every+value)
			} else {
				fmt.Fprintf(&b, `,"k%d":%q`, n, value)
			}
		}
		return `{"metadata":{"name":"w","uid":"u"},"data":{` + b.String()[1:] + `}}`
	}
	r := recordOf(t, object("new"))
	r.Type, r.Old = "MODIFIED", recordOf(t, object("old")).Object
	f := &Format{Name: "diff"}
	b, err := f.Encoder().Encode(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if minus, plus := bytes.Count(b, []byte("\n-")), bytes.Count(b, []byte("\n+")); minus != 301 || plus != 301 { // and those of the head
		t.Errorf("%d lines without, %d with", minus, plus)
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
