package kubectl_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// differs returns the difference between what both print, "" if there is none.
// Ages may be of another second; where they are, or where widths do not count,
// blanks are as good as one.
func differs(want, got string, growing bool) string {
	if want == got {
		return ""
	}
	growing = growing || strings.ContainsFunc(want, func(r rune) bool { return r > 0x7f }) // see acceptedDifferences
	a, b := words.FindAllString(want, -1), words.FindAllString(got, -1)
	same := len(a) == len(b)
	for i := 0; same && i < len(a); i++ {
		x, xerr := seconds(a[i])
		y, yerr := seconds(b[i])
		blank := strings.TrimLeft(a[i], " ") == "" && strings.TrimLeft(b[i], " ") == ""
		switch {
		case a[i] == b[i]:
		case xerr == nil && yerr == nil && max(x-y, y-x) <= 3*time.Second:
			growing = true // from here on, as one may be longer
		case blank && growing:
		case blank && aged(a, b):
		default:
			same = false
		}
	}
	if same {
		return ""
	}
	return cmp.Diff(want, got)
}

// words are what stands between blanks, the blanks, and the ends of lines.
var words = regexp.MustCompile(` +|\n|[^ \n]+`)

var duration = regexp.MustCompile(`^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$`)

// seconds reads an age, which may stand in brackets: (3s.
func seconds(word string) (time.Duration, error) {
	word = strings.TrimPrefix(word, "(")
	if word == "" || !duration.MatchString(word) {
		return 0, fmt.Errorf("%q is no age", word)
	}
	days, rest, ok := strings.Cut(word, "d")
	if !ok {
		return time.ParseDuration(word)
	}
	d, err := time.ParseDuration(days + "h")
	if err != nil || rest == "" {
		return 24 * d, err
	}
	more, err := time.ParseDuration(rest)
	return 24*d + more, err
}

// aged reports whether an age is of another length in a than in b.
func aged(a, b []string) bool {
	for i := range a {
		if _, err := seconds(a[i]); err == nil && len(a[i]) != len(b[i]) {
			return true
		}
	}
	return false
}

func TestDiffersSeesAllButAgesAndWidths(t *testing.T) {
	for _, c := range []struct {
		want, got string
		growing   bool
		same      bool
	}{
		{"NAME   AGE\na      9s\n", "NAME   AGE\na      9s\n", false, true},
		{"NAME   AGE\na      9s\n", "NAME   AGE\na      10s\n", false, true},
		{"NAME   AGE   X\na      9s    x\n", "NAME   AGE   X\na      10s   x\n", false, true},
		{"a      2m\n", "a      119s\n", false, true},
		{"a      9s\n", "a      13s\n", false, false},
		{"a      9s\n", "a      9\n", false, false},
		{"a      x\n", "a     x\n", false, false},
		{"a      x\n", "a     x\n", true, true},
		{"a      x\n", "a      y\n", true, false},
		{"a      x\n", "a      x\nb      x\n", true, false},
		{"a      x\n", "a      x", true, false},
		{"é      x\n", "é     x\n", false, true},
	} {
		if diff := differs(c.want, c.got, c.growing); (diff == "") != c.same {
			t.Errorf("differs(%q, %q, %v) = %q", c.want, c.got, c.growing, diff)
		}
	}
}
