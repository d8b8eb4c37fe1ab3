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

// around returns two values; of long texts the part that differs, with a little around it.
func around(d compare.Difference) (was, is any) {
	a, b, ok := both(d)
	if !ok || max(len(a), len(b)) <= maxValue {
		return d.Old, d.New
	}
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
