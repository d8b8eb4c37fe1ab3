package printable_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/printable"
)

func ExampleLine() {
	fmt.Println(printable.Line("no\nsuch \x1b[31mpod\u202e"))
	// Output: no such [31mpod
}

// TestForms: one text in the three forms.
func TestForms(t *testing.T) {
	for _, test := range []struct{ in, line, cell, escaped string }{
		{"", "", "", ""},
		{"plain äöü 日本 🙂", "plain äöü 日本 🙂", "plain äöü 日本 🙂", "plain äöü 日本 🙂"},
		{"👩\u200d🚀", "👩\u200d🚀", "👩\u200d🚀", "👩\u200d🚀"}, // joiners are no controls
		{"a\nb\tc", "a b c", "a...", "a\nb\tc"},
		{"a\tb", "a b", "a^Ib", "a\tb"},
		{"a\rb", "a b", "a...", `a\u000db`},
		{"\x1b]0;x\a", "]0;x", "^[]0;x^G", `\u001b]0;x\u0007`},
		{"\u009b31m", "31m", "\ufffd31m", `\u009b31m`},
		{"\x9b31m", "31m", "\ufffd31m", `\ufffd31m`},
		{"\x7f", "", "\ufffd", `\u007f`},
		{"\u0085", "", "\ufffd", `\u0085`},
		{"a\u202eb\u2066c\u200fd\u061ce", "abcde", "a\ufffdb\ufffdc\ufffdd\ufffde", `a\u202eb\u2066c\u200fd\u061ce`},
		{"a\u2028b", "a b", "a\ufffdb", `a\u2028b`},
		{"\ufffd", "\ufffd", "\ufffd", "\ufffd"},
	} {
		got := []string{printable.Line(test.in), printable.Cell(test.in), string(printable.Escape(nil, []byte(test.in)))}
		if diff := cmp.Diff([]string{test.line, test.cell, test.escaped}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.in, diff)
		}
	}
}

func TestCut(t *testing.T) {
	got := []string{printable.Cut("", 0), printable.Cut("abc", 3), printable.Cut("abcd", 3), printable.Cut("aé日本", 3), printable.Cut("aé日本", 5), printable.Cut("日本", 0)}
	if diff := cmp.Diff([]string{"", "abc", "abc…", "aé…", "aé…", "…"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzForms(f *testing.F) {
	f.Add("a\u202e\x1b[31m\x9b\n")
	f.Fuzz(func(t *testing.T, s string) {
		for i, got := range []string{printable.Line(s), printable.Cell(s), string(printable.Escape(nil, []byte(s)))} {
			for _, r := range got {
				if printable.Unsafe(r) && !(i == 2 && (r == '\n' || r == '\t')) {
					t.Errorf("form %d of %q holds %U", i, s, r)
				}
			}
			if !utf8.ValidString(got) {
				t.Errorf("form %d of %q is no UTF-8", i, s)
			}
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back, want string
		if err := json.Unmarshal(printable.Escape(nil, text), &back); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(text, &want)
		if back != want {
			t.Errorf("JSON of %q: %q, want %q", s, back, want)
		}
	})
}
