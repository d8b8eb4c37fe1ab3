package diff

import (
	"fmt"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/listwatch/listwatch/internal/compare"
	"github.com/listwatch/listwatch/internal/edits"
	"github.com/listwatch/listwatch/internal/printable"
)

// maxLines is how many bytes of what differs between texts of several lines are shown.
const maxLines = 32 << 10

// both returns the texts that differ; ok is false where one is no text, or is not there.
func both(d compare.Difference) (a, b string, ok bool) {
	a, before := d.Old.(string)
	b, after := d.New.(string)
	return a, b, before && after && !d.Added && !d.Removed
}

// lines compares two texts of several lines. It returns "" where there are none.
func lines(d compare.Difference) string {
	a, b, ok := both(d)
	if !ok || !strings.Contains(strings.TrimSpace(a), "\n") || !strings.Contains(strings.TrimSpace(b), "\n") {
		return ""
	}
	var s string
	found := edits.Of(a, b)
	for _, context := range []int{3, 1, 0} {
		var err error
		if s, err = udiff.ToUnified("", "", a, found, context); err != nil {
			return "" // it is shown as a whole
		}
		_, s, _ = strings.Cut(s, "+++ \n")
		s = narrow(s)
		if len(s) <= maxLines {
			return s
		}
	}
	cut := strings.LastIndexByte(s[:maxLines], '\n') + 1
	if cut == 0 {
		return printable.Cut(s, maxLines)
	}
	return fmt.Sprintf("%s… and %d more lines", s[:cut], strings.Count(s[cut:], "\n"))
}

// maxLine is how many bytes of a line are shown, or around what differs in it.
const maxLine = 1000

// narrow shortens the long lines of a unified diff. Of as many lines that go as come, each is
// shown where it differs from the one that takes its place.
func narrow(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i := 0; i < len(lines); {
		minus := run(lines[i:], '-')
		plus := run(lines[i+minus:], '+')
		for n := range minus {
			if minus == plus && max(len(lines[i+n]), len(lines[i+minus+n])) > maxLine {
				a, b := near(lines[i+n][1:], lines[i+minus+n][1:])
				lines[i+n], lines[i+minus+n] = "-"+strings.TrimSuffix(a, "\n")+"\n", "+"+strings.TrimSuffix(b, "\n")+"\n"
			}
		}
		i += max(1, minus+plus)
	}
	for i, line := range lines {
		if len(line) > maxLine {
			lines[i] = strings.TrimSuffix(printable.Cut(line, maxLine), "\n") + "\n"
		}
	}
	return strings.Join(lines, "")
}

// run is how many lines begin with a mark.
func run(lines []string, mark byte) (n int) {
	for n < len(lines) && lines[n] != "" && lines[n][0] == mark {
		n++
	}
	return n
}

// around returns two values; of long texts the part that differs, with a little around it.
func around(d compare.Difference) (was, is any) {
	a, b, ok := both(d)
	if !ok || max(len(a), len(b)) <= maxValue {
		return d.Old, d.New
	}
	return near(a, b)
}

// near returns the parts of two texts that differ, with a little around them.
func near(a, b string) (string, string) {
	const some = 100
	same, least := 0, min(len(a), len(b))
	for same < least && a[same] == b[same] {
		same++
	}
	end := 0
	for end < least-same && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	part := func(s string) string {
		from, to := max(0, same-some), min(len(s), len(s)-end+some)
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to++
		}
		marks := map[bool]string{true: "…"}
		return marks[from > 0] + s[from:to] + marks[to < len(s)]
	}
	return part(a), part(b)
}
