package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
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
			"Image changed", []Change{{"spec.c[name=a].image", s("x"), s("y")}}},
		{"a new element", `{"status":{"conditions":[]}}`, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
			"Changed status", []Change{{"status.conditions[type=Ready]", nil, s(`{"status":"True","type":"Ready"}`)}}},
		{"elements without names", `{"a":[1,2,3]}`, `{"a":[1,4]}`, "Changed", []Change{{"a[1]", s("2"), s("4")}, {"a[2]", s("3"), nil}}},
		{"names twice", `{"a":[{"name":"x"},{"name":"x"}]}`, `{"a":[{"name":"x"}]}`, "Changed", []Change{{"a[1]", s(`{"name":"x"}`), nil}}},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, "Changed", []Change{{"a", s(`{"b":1}`), s(`[1]`)}}},
		{"a scalar becomes a list", `{"a":"x"}`, `{"a":[1]}`, "Changed", []Change{{"a", s(`x`), s(`[1]`)}}},
		{"null is a value", `{"a":null}`, `{}`, "Changed", []Change{{"a", s("null"), nil}}},
		{"a name with dots", `{"metadata":{"labels":{"a.b/c":"1"}}}`, `{"metadata":{"labels":{"a.b/c":"2"}}}`,
			"Labels changed", []Change{{`metadata.labels["a.b/c"]`, s("1"), s("2")}}},
		{"a crash", `{"status":{"containerStatuses":[{"name":"app","state":{"running":{}}}]}}`, `{"status":{"containerStatuses":[{"name":"app","state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`,
			"CrashLoopBackOff", []Change{{"status.containerStatuses[name=app].state.running", s("{}"), nil}, {"status.containerStatuses[name=app].state.waiting", nil, s(`{"reason":"CrashLoopBackOff"}`)}}},
		{"scaled", `{"spec":{"replicas":3}}`, `{"spec":{"replicas":5}}`, "Scaled 3 → 5", []Change{{"spec.replicas", s("3"), s("5")}}},
		{"large numbers", `{"a":9007199254740993}`, `{"a":9007199254740992}`, "Changed", []Change{{"a", s("9007199254740993"), s("9007199254740992")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, more := Objects(parse(t, test.a), parse(t, test.b), 100)
			if diff := cmp.Diff(test.want, got); diff != "" || more != 0 {
				t.Errorf("(-want +got), %d more:\n%s", more, diff)
			}
			if got := Headline(got); got != test.headline {
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

// TestYAML: what is printed is what was given.
func TestYAML(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"b":"x","c":["1",2,{"d":"e","f":{"g":[]}}],"h":{},"i":null,"j":true}`,
		`{"a":"true","b":"null","c":"1.5","d":"0x1f","e":"1e3","f":"","g":" x","h":"a: b","i":"a #b","j":"- a","k":"~","l":"2026-01-01","m":"a:b","n":"Yes","o":"@a","p":"x:"}`,
		`{"a":"line 1\nline 2\n","b":"line 1\n  line 2","c":"\nx","d":"x\n\n","e":"tab\tx\ny","f":" x\ny","g":"x\n\ny","h":["a\nb\n",["c",["d"]]]}`,
		`{"key with space":1,"a.b/c":2,"1":3,"true":4,"":5,"\u0000":6}`,
		`{"u":"é世界 \u2028 \u0085 \ufeff 😀","c":"\u001b[31m<b>&"}`,
		`{"big":9007199254740993,"f":1.50}`,
	} {
		want := parse(t, text)
		out, truncated := YAML(want, 1<<20)
		var got map[string]any
		if err := yaml.Unmarshal([]byte(out), &got); err != nil || truncated {
			t.Errorf("%s: %v\n%s", text, err, out)
			continue
		}
		if diff := cmp.Diff(numbers(t, want), numbers(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s%s", text, diff, out)
		}
	}
}

// numbers makes all numbers of v those of encoding/json.
func numbers(t *testing.T, v any) (out any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestYAMLIsLimited(t *testing.T) {
	list := make([]any, 100_000)
	for i := range list {
		list[i] = "x"
	}
	out, truncated := YAML(map[string]any{"a": list}, 1000)
	if !truncated || len(out) > 1000 || !strings.HasSuffix(out, "- x\n") {
		t.Errorf("%v, %d bytes", truncated, len(out))
	}
	var deep any = "x"
	for range 5000 {
		deep = map[string]any{"a": deep}
	}
	if out, _ := YAML(map[string]any{"a": deep}, 1<<20); len(out) > 100_000 {
		t.Errorf("%d bytes", len(out))
	}
}
