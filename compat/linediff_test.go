package compat_test

import (
	"slices"
	"strings"
)

// lineDiff shows the lines in which two texts differ, - of want and + of got, and
// of the lines that they share those that say where: the two before each.
func lineDiff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	length := make([][]int, len(a)+1) // of the longest sequence that a[i:] and b[j:] share
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var out, shared []string
	say := func(sign, line string) {
		out = append(append(out, shared[max(0, len(shared)-2):]...), sign+line)
		shared = nil
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			shared = append(shared, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			say("- ", a[i])
			i++
		default:
			say("+ ", b[j])
			j++
		}
	}
	most := 60
	if a[0] != b[0] {
		out = slices.DeleteFunc(out, func(line string) bool { return strings.HasPrefix(line, "  ") })
		slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
		most = 14
	}
	if len(out) > most {
		out = append(out[:most], "...")
	}
	return strings.Join(out, "\n")
}

// rank puts first what says why an answer is another.
func rank(line string) int {
	for i, name := range []string{` "message"`, `Warning`} {
		if strings.Contains(line, name) {
			return i
		}
	}
	if len(line) == len("- 200") {
		return -1
	}
	return 2
}
