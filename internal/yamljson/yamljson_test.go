package yamljson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, ~, true, 1.5, 2026-01-02]":       `{"a":1,"b":["x",null,true,1.5,"2026-01-02"]}`,
		"a: &x {b: 1}\nc: *x\nd: [*x, *x]":             `{"a":{"b":1},"c":{"b":1},"d":[{"b":1},{"b":1}]}`,
		"a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}":        `{"a":{"b":1,"c":2},"d":{"b":3,"c":2}}`,
		"n: 9007199254740993\nu: 18446744073709551615": `{"n":9007199254740993,"u":18446744073709551615}`,
		"1: a\ntrue: b":   `{"1":"a","true":"b"}`,
		"":                "EOF",
		"# nothing":       "EOF",
		"a: 1\na: 2":      "line 2: a key occurs twice in one mapping",
		"? [a]\n: b":      "line 1: a key is not text",
		"a: .inf":         "line 1: a number or word that JSON has not",
		"a: *secret":      "not valid YAML",
		"a: [":            "line 1: not valid YAML",
		"a: {<<: secret}": "line 1: << wants a mapping",
		"a: &x [*x]":      "line 1: an anchor contains itself",
	} {
		v, err := NewDecoder([]byte(text), Limits{}).Value()
		got := ""
		if err != nil {
			got = err.Error()
		} else if b, err := json.Marshal(v); err != nil {
			t.Errorf("%q: %v", text, err)
		} else {
			got = string(b)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestDecoderReadsDocuments(t *testing.T) {
	d := NewDecoder([]byte("a: 1\n---\n\nb: 2\n---\n"), Limits{})
	var got []string
	for {
		v, line, err := d.ValueAt()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(v)
		got = append(got, fmt.Sprintf("%d %s", line, b))
	}
	if diff := cmp.Diff([]string{`1 {"a":1}`, `2 {"b":2}`, "5 null"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// bombs are short texts that become large.
func bombs() map[string]string {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 20 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d]\n", i+1, i+1, i)
	}
	long := "- &s " + strings.Repeat("x", 1_400_000) + "\n"
	deep := "a0: &a0 [x]\n"
	for i := range 60 {
		deep += fmt.Sprintf("a%d: &a%d [[[[*a%d]]]]\n", i+1, i+1, i)
	}
	return map[string]string{
		"laughs":     laughs,
		"one scalar": long + strings.Repeat("- *s\n", 3000),
		"escapes":    "- &s \"" + strings.Repeat(`\0`, 100_000) + "\"\n- *s\n- *s\n",
		"keys":       "a: &s " + strings.Repeat("x", 600_000) + "\nb: {*s : 1}\nc: {*s : 1}\nd: {*s : 1}\n",
		"merges":     "a: &s {b: " + strings.Repeat("x", 600_000) + "}\nb: {<<: *s}\nc: {<<: [*s, *s]}\n",
		"deep alias": deep,
		"deep":       strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"flow":       "[" + strings.Repeat("[],", 5_000_000) + "]",
		"scalars":    "[" + strings.Repeat("a,", 7_000_000) + "]",
		"blocks":     strings.Repeat("- a\n", 4_000_000),
		"mappings":   strings.Repeat("? a\n", 4_000_000),
		"documents":  strings.Repeat("---\n", 4_000_000),
		"bytes":      strings.Repeat("a", 17<<20),
	}
}

func TestBombsAreRefused(t *testing.T) {
	want := map[string]string{
		"laughs":     "line 1: its aliases expand to more than 1 MiB",
		"one scalar": "line 1: its aliases expand to more than 1 MiB",
		"escapes":    "line 1: its aliases expand to more than 1 MiB",
		"keys":       "line 1: its aliases expand to more than 1 MiB",
		"merges":     "line 1: its aliases expand to more than 1 MiB",
		"deep alias": "line 1: nested more than 200 levels deep",
		"deep":       "line 1: nested more than 200 levels deep",
		"flow":       "line 1: the document has more than 400000 elements",
		"scalars":    "line 1: the document has more than 400000 elements",
		"blocks":     "line 400001: the document has more than 400000 elements",
		"mappings":   "line 400001: the document has more than 400000 elements",
		"documents":  "line 10001: more than 10000 documents",
		"bytes":      "larger than 16 MiB",
	}
	for name, text := range bombs() {
		before := allocated()
		_, err := NewDecoder([]byte(text), Limits{}).Value()
		took := allocated() - before - uint64(len(text))
		var own *Error
		if !errors.As(err, &own) || err.Error() != want[name] {
			t.Errorf("%s: %v, want %s", name, err, want[name])
		}
		if most := uint64(64 << 20); took > most {
			t.Errorf("%s: %d MiB were allocated, want at most %d", name, took>>20, most>>20)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestAliasesWithinTheLimit: what people write with anchors passes.
func TestAliasesWithinTheLimit(t *testing.T) {
	text := "a: &s " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("*s,", 1000) + "]\n"
	v, err := NewDecoder([]byte(text), Limits{}).Value()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(v.(map[string]any)["b"].([]any)); n != 1000 {
		t.Errorf("%d elements", n)
	}
}

// nodes counts those of n, and what json.Marshal makes of n at most.
func nodes(n *yaml.Node) int {
	sum := 1
	for _, c := range n.Content {
		sum += nodes(c)
	}
	return sum
}

// FuzzDecoder: whatever the text is, its nodes are within what Scan counted, and its
// value is not larger than what was measured.
func FuzzDecoder(f *testing.F) {
	for _, text := range []string{
		"a: &x {b: [1, 2]}\nc: *x\n---\n? k\n? l\n", "[a: b, c: d]", "{a, b}", "- - - a\n", "? ? ? a", "- |\n  text: more\n---\nb", "'it''s': \"\\u0000\"",
		"{? a, ? b}", "[? a : b]", "a:\n-\n-\nb:", "!!str a: &b !t c", "\xff\xfe-\x00 \x00a\x00", "\xfe\xff\x00-\x00\n", "-\u0085-\u2028- x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limits := Limits{Aliased: 1 << 12, Depth: 50}
		d := NewDecoder([]byte(text), limits)
		most := 0
		for {
			n, err := d.Node()
			if err != nil {
				break
			}
			most = max(most, nodes(n))
			v, err := Value(n)
			if err != nil {
				continue
			}
			m := measure{limits: limits.withDefaults(), targets: make(map[*yaml.Node]extent)}
			e, err := m.node(n, 0)
			if err != nil {
				t.Fatalf("measured before, and now %v", err)
			}
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > e.bytes {
				t.Fatalf("%d bytes, measured %d", len(b), e.bytes)
			}
		}
		if tokens := (most - 4) / 3; tokens > 0 && (Limits{Tokens: tokens - 1}).Scan([]byte(text)) == nil && tokens > 1 {
			t.Fatalf("a document of %d nodes has less than %d tokens", most, tokens)
		}
	})
}
