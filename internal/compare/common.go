package compare

import "reflect"

// maxTable is how large a table common makes: 256 by 256 elements.
const maxTable = 1 << 16

// common returns the indexes in both lists of a longest common subsequence of them. Of long
// lists it is that at the beginning and the end.
func common(old, now []any) (same [][2]int) {
	from := 0
	for from < min(len(old), len(now)) && reflect.DeepEqual(old[from], now[from]) {
		same = append(same, [2]int{from, from})
		from++
	}
	i, j := len(old), len(now)
	for i > from && j > from && reflect.DeepEqual(old[i-1], now[j-1]) {
		i, j = i-1, j-1
	}
	same = append(same, middle(old[from:i], now[from:j], from)...)
	for ; i < len(old); i, j = i+1, j+1 {
		same = append(same, [2]int{i, j})
	}
	return same
}

// middle is common of two lists that begin at an index and have other first and last elements.
func middle(old, now []any, from int) (same [][2]int) {
	if len(old)*len(now) > maxTable {
		return nil
	}
	equal := make([][]bool, len(old))
	longest := make([][]int, len(old)+1) // of what follows
	longest[len(old)] = make([]int, len(now)+1)
	for i := len(old) - 1; i >= 0; i-- {
		equal[i], longest[i] = make([]bool, len(now)), make([]int, len(now)+1)
		for j := len(now) - 1; j >= 0; j-- {
			if equal[i][j] = reflect.DeepEqual(old[i], now[j]); equal[i][j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(now); {
		switch {
		case equal[i][j]:
			same = append(same, [2]int{from + i, from + j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return same
}
