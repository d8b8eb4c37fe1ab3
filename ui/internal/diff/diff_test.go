package diff

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/compare"
)

func parse(t *testing.T, s string) map[string]any {
	t.Helper()
	m, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func s(text string) *string { return &text }

func TestObjects(t *testing.T) {
	for _, test := range []struct {
		name, a, b string
		headline   string
		want       []Change
	}{
		{"a revision", `{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"2"}}`, "Written without a change", nil},
		{"an element by its name, in another order", `{"spec":{"c":[{"name":"a","image":"x"},{"name":"b"}]}}`, `{"spec":{"c":[{"name":"b"},{"name":"a","image":"y"}]}}`,
			"Image changed x → y", []Change{{"spec.c[name=a].image", s("x"), s("y"), ""}, {"spec.c[order]", s("a, b"), s("b, a"), ""}}},
		{"a new element", `{"status":{"conditions":[]}}`, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
			"Ready True", []Change{{"status.conditions[type=Ready]", nil, s(`{"status":"True","type":"Ready"}`), ""}}},
		{"an element by its path", `{"a":[{"path":"/x","b":1},{"path":"/y"}]}`, `{"a":[{"path":"/y"},{"path":"/x","b":2}]}`, "Changed: a[path=/x].b 1 → 2", []Change{{"a[path=/x].b", s("1"), s("2"), ""}, {"a[order]", s("/x, /y"), s("/y, /x"), ""}}},
		{"one port, two protocols", `{"spec":{"ports":[{"port":53,"protocol":"TCP","nodePort":1},{"port":53,"protocol":"UDP"}]}}`, `{"spec":{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP","nodePort":2}]}}`,
			"Spec changed: ports[port=53,protocol=TCP].nodePort 1 → 2", []Change{{"spec.ports[port=53,protocol=TCP].nodePort", s("1"), s("2"), ""}, {"spec.ports[order]", s("port=53,protocol=TCP, port=53,protocol=UDP"), s("port=53,protocol=UDP, port=53,protocol=TCP"), ""}}},
		{"elements without names", `{"a":[1,2,3]}`, `{"a":[1,4]}`, "Changed: a[1] 2 → 4", []Change{{"a[1]", s("2"), s("4"), ""}, {"a[2]", s("3"), nil, ""}}},
		{"a verb of a rule", `{"rules":[{"verbs":["get","list","watch"]}]}`, `{"rules":[{"verbs":["list","watch"]}]}`, "Changed: rules[0].verbs[0] get removed", []Change{{"rules[0].verbs[0]", s("get"), nil, ""}}},
		{"a rule", `{"spec":{"ingress":[{"ports":[{"port":9090}]},{"from":[{"podSelector":{"matchLabels":{"app":"cart"}}}],"ports":[{"port":8080,"protocol":"TCP"}]}]}}`, `{"spec":{"ingress":[{"ports":[{"port":9090}]}]}}`,
			"Spec changed: ingress[1] removed (app cart, port 8080, protocol TCP)", []Change{{"spec.ingress[1]", s(`{"from":[{"podSelector":{"matchLabels":{"app":"cart"}}}],"ports":[{"port":8080,"protocol":"TCP"}]}`), nil, ""}}},
		{"texts of several lines", `{"data":{"a":"x: 1\ny: 2\nz: 3\n"}}`, `{"data":{"a":"x: 1\nz: 3\ny: 2\n"}}`, "Data changed: a", []Change{{"data.a", s("x: 1\ny: 2\nz: 3\n"), s("x: 1\nz: 3\ny: 2\n"), "@@ -1,3 +1,3 @@\n x: 1\n-y: 2\n z: 3\n+y: 2\n"}}},
		{"a text of one line becomes longer", `{"data":{"a":"x\n"}}`, `{"data":{"a":"x\ny"}}`, "Data changed: a", []Change{{"data.a", s("x\n"), s("x\ny"), ""}}},
		{"another order", `{"subjects":[{"name":"a"},{"name":"b"}]}`, `{"subjects":[{"name":"b"},{"name":"a"}]}`, "Changed: subjects[order] a, b → b, a", []Change{{"subjects[order]", s("a, b"), s("b, a"), ""}}},
		{"names twice", `{"a":[{"name":"x"},{"name":"x"}]}`, `{"a":[{"name":"x"}]}`, "Changed: a[1] removed (name x)", []Change{{"a[1]", s(`{"name":"x"}`), nil, ""}}},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, `Changed: a {"b":1} → [1]`, []Change{{"a", s(`{"b":1}`), s(`[1]`), ""}}},
		{"a scalar becomes a list", `{"a":"x"}`, `{"a":[1]}`, "Changed: a x → [1]", []Change{{"a", s(`x`), s(`[1]`), ""}}},
		{"null is a value", `{"a":null}`, `{}`, "Changed: a removed", []Change{{"a", s("null"), nil, ""}}},
		{"a name with dots", `{"metadata":{"labels":{"a.b/c":"1"}}}`, `{"metadata":{"labels":{"a.b/c":"2"}}}`,
			"Labels changed: a.b/c 1 → 2", []Change{{`metadata.labels["a.b/c"]`, s("1"), s("2"), ""}}},
		{"a crash", `{"status":{"containerStatuses":[{"name":"app","state":{"running":{}}}]}}`, `{"status":{"containerStatuses":[{"name":"app","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`,
			"CrashLoopBackOff", []Change{{"status.containerStatuses[name=app].state.running", s("{}"), nil, ""}, {"status.containerStatuses[name=app].state.waiting", nil, s(`{"reason":"CrashLoopBackOff"}`), ""}}},
		{"scaled", `{"spec":{"replicas":3}}`, `{"spec":{"replicas":5}}`, "Scaled 3 → 5", []Change{{"spec.replicas", s("3"), s("5"), ""}}},
		{"blank texts", `{"data":{"a":"","b":"x"}}`, `{"data":{"a":" ","b":"x "}}`, `Data changed: a "" → " "`, []Change{{"data.a", s(""), s(" "), ""}, {"data.b", s("x"), s("x "), ""}}},
		{"large numbers", `{"a":9007199254740993}`, `{"a":9007199254740992}`, "Changed: a 9007199254740993 → 9007199254740992", []Change{{"a", s("9007199254740993"), s("9007199254740992"), ""}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, more := Objects(parse(t, test.a), parse(t, test.b), 100)
			if diff := cmp.Diff(test.want, got); diff != "" || more != 0 {
				t.Errorf("(-want +got), %d more:\n%s", more, diff)
			}
			if got, _ := headline(got); got != test.headline {
				t.Errorf("headline %q, want %q", got, test.headline)
			}
		})
	}
}

// TestDifferencesAreLimited: in number and in bytes, of values and of paths.
func TestDifferencesAreLimited(t *testing.T) {
	many := map[string]any{}
	for i := range 3000 {
		many[strings.Repeat("k", i%50)+string(rune('a'+i%26))+strings.Repeat("x", i)] = strings.Repeat("v", 10_000)
	}
	got, more := Objects(map[string]any{}, many, 2000)
	size := 0
	for _, c := range got {
		size += len(c.Path) + len(*c.New)
	}
	if more == 0 || size > maxBytes+2*maxValue+100 {
		t.Errorf("%d differences of %d bytes, %d more", len(got), size, more)
	}
}

// TestLongTextsAreCutAroundWhatDiffers: the end of a long text is compared as its beginning is, and
// what is left out is counted.
func TestLongTextsAreCutAroundWhatDiffers(t *testing.T) {
	one := func(a, b string) Change {
		t.Helper()
		changes, more := Objects(map[string]any{"a": a}, map[string]any{"a": b}, 10)
		if len(changes) != 1 || more != 0 {
			t.Fatalf("%d changes and %d more", len(changes), more)
		}
		return changes[0]
	}
	file := func(lines int, at func(int) string) string {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "tenant-%d: {upstream: pool-%d.internal:8443, timeout: %s}\n", i, i%7, at(i))
		}
		return b.String()
	}
	same := func(int) string { return "30s" }
	// Every tenth line, and the last: 200 hunks.
	c := one(file(2000, same), file(2000, func(i int) string {
		if i%10 == 0 || i == 1999 {
			return "99s"
		}
		return "30s"
	}))
	if n := strings.Count(c.Lines, "\n+tenant"); n != 201 || !strings.Contains(c.Lines, "+tenant-1999:") {
		t.Errorf("%d lines of 201 are shown, of %d bytes, which end with %q", n, len(c.Lines), c.Lines[len(c.Lines)-100:])
	}
	// All lines: it is cut, and says by how much.
	c = one(file(2000, same), file(2000, func(int) string { return "99s" }))
	if n := strings.Count(c.Lines, "\n"); len(c.Lines) > maxLines+100 || !strings.HasSuffix(c.Lines, fmt.Sprintf("… and %d more lines", 4001-n)) {
		t.Errorf("%d lines of %d bytes, which end with %q", n, len(c.Lines), c.Lines[len(c.Lines)-50:])
	}
	// One line.
	long := strings.Repeat("é,", 7000)
	c = one(long+"x"+long, long+"y"+long)
	if c.Lines != "" || len(*c.Old) > 300 || strings.Trim(*c.Old, "…é,") != "x" || strings.Trim(*c.New, "…é,") != "y" || !utf8.ValidString(*c.Old) {
		t.Errorf("old %q\nnew %q", *c.Old, *c.New)
	}
	c = one(long, long+"y")
	if !strings.HasSuffix(*c.New, ",y") || strings.HasSuffix(*c.Old, "…") || !strings.HasPrefix(*c.Old, "…") {
		t.Errorf("old %q\nnew %q", *c.Old, *c.New)
	}
}

// TestLongLinesAmongOthersHideNothing: each is shown where it differs, and the others beside it.
func TestLongLinesAmongOthersHideNothing(t *testing.T) {
	long := strings.Repeat("é,", 20000)
	text := func(port, in, all string) string {
		return "host: a\n" + long + in + long + "\nport: " + port + "\n" + long + "\n" + all + "\nend\n"
	}
	a, b := text("80", "x", strings.Repeat("old", 20000)), text("81", "y", strings.Repeat("new", 20000))
	got := lines(compare.Difference{Old: a, New: b})
	for _, want := range []string{" host: a\n", "é,x", "é,y", "\n-port: 80\n", "\n+port: 81\n", "\n-oldold", "\n+newnew", "\n end\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if len(line) > maxLine+10 || !strings.HasSuffix(line, "\n") || !utf8.ValidString(line) {
			t.Errorf("%d bytes: %.80q", len(line), line)
		}
	}
	if strings.Contains(got, "more lines") {
		t.Errorf("cut:\n%.300s", got)
	}
}
