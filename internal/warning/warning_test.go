package warning_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/warning"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("é", 2000)
	for _, tt := range []struct {
		in   []string
		want []string
	}{
		{nil, nil},
		{[]string{`299 - "v1 ComponentStatus is deprecated in v1.19+"`}, []string{"v1 ComponentStatus is deprecated in v1.19+"}},
		{[]string{`299 - "one"`, `299 - "two"`}, []string{"one", "two"}},
		{[]string{`299 - "one", 299 h:6443 "two, too" "Sat, 01 Jan 2000 00:00:00 GMT",299 - "three"`}, []string{"one", "two, too", "three"}},
		{[]string{`199 - "of a cache", 299 - "ours"`}, []string{"ours"}},
		{[]string{`299 - "a \"quote\" and a \\ and a \é"`}, []string{`a "quote" and a \ and a é`}},
		{[]string{`299 - "grün 警告"`}, []string{"grün 警告"}},
		{[]string{"299 - \"\xff\xfe\""}, []string{"\ufffd\ufffd"}},
		{[]string{"299 - \"red\x1b[31m\tand \u202eback\u2028line\""}, []string{"red [31m and  back line"}},
		{[]string{`299 - ""`, `299 - " "`}, nil},
		{[]string{`299 -  "spaces"  `, ` , 299	- "no"`}, []string{"spaces"}},
		{[]string{`299 - "open`, `299 - "escape\`, `299 - `, `299`, `"`, ``, `,`, `299 - text`, `299 - "a" "b`}, nil},
		{[]string{`299 - "good" bad, 299 - "lost"`, `299 - "other header"`}, []string{"other header"}},
		{[]string{`299 - "` + long + `"`}, []string{strings.Repeat("é", 512)}},
		{[]string{strings.Repeat(`299 - "x",`, 200)}, slicesOf("x", 100)},
		{slicesOf(`299 - "x"`, 200), slicesOf("x", 100)},
	} {
		if diff := cmp.Diff(tt.want, warning.Parse(tt.in)); diff != "" {
			t.Errorf("%.200q (-want +got):\n%s", tt.in, diff)
		}
	}
}

func slicesOf(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func FuzzParse(f *testing.F) {
	f.Add(`299 - "one", 299 h:6443 "two\"" "Sat, 01 Jan 2000 00:00:00 GMT"`)
	f.Add("299 - \"\x1b\xff\"")
	f.Fuzz(func(t *testing.T, h string) {
		got := warning.Parse([]string{h})
		if len(got) > 100 {
			t.Errorf("%d warnings", len(got))
		}
		for _, s := range got {
			if s == "" || len(s) > 1024 || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q is not harmless", s)
			}
		}
		quoted := `299 - "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(h) + `"`
		if got := warning.Parse([]string{quoted, quoted}); len(got) == 1 {
			t.Errorf("%q says something once and nothing the second time", quoted)
		}
	})
}
