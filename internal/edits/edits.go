// Package edits compares long texts by lines.
package edits

import (
	"cmp"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Of compares texts by lines. Those that stand once in both are found first, so that each
// comparison of what is between them is short: of longer ones udiff replaces the whole.
func Of(a, b string) (all []udiff.Edit) {
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
