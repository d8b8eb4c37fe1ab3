package yamltext_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/internal/yamltext"
)

// TestYAML: what is printed is what was given.
func TestYAML(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"b":"x","c":["1",2,{"d":"e","f":{"g":[]}}],"h":{},"i":null,"j":true}`,
		`{"a":"true","b":"null","c":"1.5","d":"0x1f","e":"1e3","f":"","g":" x","h":"a: b","i":"a #b","j":"- a","k":"~","l":"2026-01-01","m":"a:b","n":"Yes","o":"@a","p":"x:"}`,
		`{"a":"line 1\nline 2\n","b":"line 1\n  line 2","c":"\nx","d":"x\n\n","e":"tab\tx\ny","f":" x\ny","g":"x\n\ny","h":["a\nb\n",["c",["d"]]]}`,
		`{"key with space":1,"a.b/c":2,"1":3,"true":4,"":5,"\u0000":6}`,
		`{"u":"é世界 \u2028 \u0085 \ufeff 😀","c":"\u001b[31m<b>&"}`,
		`{"big":9007199254740993,"f":1.50}`,
		`{"dots":[".spec.replicas",".inf",".NaN",".5",".e1","..","."],"words":["a, b","a  b","a(b)","a (b)","a ","a:b","a: b","a :b","a@b"]}`,
	} {
		out, truncated, err := yamltext.Of([]byte(text), 1<<20)
		if err != nil || truncated {
			t.Errorf("%s: truncated is %v: %v", text, truncated, err)
			continue
		}
		var want, got map[string]any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(out), &got); err != nil {
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
	list := `"x"` + strings.Repeat(`,"x"`, 100_000)
	out, truncated, err := yamltext.Of([]byte(`{"a":[`+list+`]}`), 1000)
	if err != nil || !truncated || len(out) > 1000 || !strings.HasSuffix(out, "- x\n") {
		t.Errorf("%v, %d bytes: %v", truncated, len(out), err)
	}
	out, truncated, err = yamltext.Of([]byte(strings.Repeat(`{"a":`, 5000)+`"x"`+strings.Repeat("}", 5000)), 1<<20)
	if err != nil || truncated || len(out) > 100_000 {
		t.Errorf("%v, %d bytes: %v", truncated, len(out), err)
	}
}

func TestLayoutIsThatOfKubectl(t *testing.T) {
	const text = `{"kind":"X","a":[1,{"b":"c","d":{"e":[]}},[["f","g"],[{"h":"line 1\nline 2\n"}]],{}],"i":{"j":"k\nl"}}`
	const want = `kind: X
a:
- 1
- b: c
  d:
    e: []
- - - f
    - g
  - - h: |
        line 1
        line 2
- {}
i:
  j: |-
    k
    l
`
	got, _, err := yamltext.Of([]byte(text), 1<<20)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestInvalidJSONIsAnError(t *testing.T) {
	for _, text := range []string{``, `{"a":`, `{"a":1`, `[1`, `{"a":[1,}`, strings.Repeat(`[`, 200)} {
		if out, _, err := yamltext.Of([]byte(text), 1<<20); err == nil {
			t.Errorf("%q: no error, but %q", text, out)
		}
	}
}

func TestYAMLHasTheValuesOfTheJSON(t *testing.T) {
	want := map[string]any{
		"text": []any{"", ".5", ".", "..", "/", "a: b", "a #b", "- a", "true", "No", "null", "~", "1e3", "0x1", "2026-01-02", "a\nb\n", " a", "a ", `"`, "'", "é", "\t", "a:", "*a", "&a", "!a", "%a", "@a", "|", ">", "=", "<<", ".inf", ".NaN", "y", "a,b", "[a", "\u2028", "\u007f", "\u0085", "\ufeff", ".e1", "a, b", "a:b"},
		"map":  map[string]any{"": 1, "a: b": true, "on": nil, "empty": map[string]any{}, "list": []any{}},
		"list": []any{[]any{"a", []any{}, []any{"b"}}, map[string]any{"x": []any{map[string]any{"y": 1.5, "z": "w"}}, "y": 2}},
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := yamltext.Of(b, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	var y any
	if err := yaml.Unmarshal([]byte(text), &y); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, err := json.Marshal(y)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
}
