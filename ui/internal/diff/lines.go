package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/listwatch/listwatch/internal/compare"
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
	found := edits(a, b)
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

// edits compares texts by lines. Those that stand once in both are found first, so that each
// comparison of what is between them is short: of longer ones udiff replaces the whole.
func edits(a, b string) (all []udiff.Edit) {
	before, after := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	offset, i, j := 0, 0, 0
	for _, to := range append(anchors(before, after), [2]int{len(before), len(after)}) {
		x, y := strings.Join(before[i:to[0]], ""), strings.Join(after[j:to[1]], "")
		for _, e := range udiff.Lines(x, y) {
			e.Start += offset
			e.End += offset
			all = append(all, e)
		}
		offset += len(x)
		i, j = to[0], to[1]
	}
	return all
}

// anchors returns the longest row of lines that stand once in a and once in b, in the order of
// both, as their indexes in a and b.
func anchors(a, b []string) (row [][2]int) {
	inA, inB := indexes(a), indexes(b)
	var pairs [][2]int
	for i, line := range a {
		if j, ok := inB[line]; ok && j >= 0 && inA[line] == i {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	ends, before := []int(nil), make([]int, len(pairs)) // the pair that ends the best row of each length; the one before each
	for n, p := range pairs {
		length, _ := slices.BinarySearchFunc(ends, p[1], func(end, j int) int { return cmp.Compare(pairs[end][1], j) })
		if before[n] = -1; length > 0 {
			before[n] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, n)
		}
		ends[length] = n
	}
	if len(ends) == 0 {
		return nil
	}
	for n := ends[len(ends)-1]; n >= 0; n = before[n] {
		row = append(row, pairs[n])
	}
	slices.Reverse(row)
	return row
}

// indexes returns where each line stands; -1 = in several places.
func indexes(lines []string) map[string]int {
	at := make(map[string]int, len(lines))
	for i, line := range lines {
		if _, again := at[line]; again {
			i = -1
		}
		at[line] = i
	}
	return at
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
