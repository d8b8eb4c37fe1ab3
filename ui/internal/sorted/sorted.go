// Package sorted keeps a slice sorted while parts of it change.
package sorted

import "slices"

// Fits reports whether rows remain sorted if v replaces the one at a place. No two are equal.
func Fits[T any](rows []T, at int, v T, order func(a, b T) int) bool {
	return (at == 0 || order(rows[at-1], v) < 0) && (at == len(rows)-1 || order(v, rows[at+1]) < 0)
}

// Remove takes the rows at some places out. It sorts the places, and changes rows.
func Remove[T any](rows []T, places []int) []T {
	if len(places) == 0 {
		return rows
	}
	slices.Sort(places)
	kept := places[0]
	for n, at := range places {
		end := len(rows)
		if n+1 < len(places) {
			end = places[n+1]
		}
		kept += copy(rows[kept:], rows[at+1:end])
	}
	clear(rows[kept:])
	return rows[:kept]
}

// Insert puts fresh ones in where they belong. It sorts them, and changes rows.
func Insert[T any](rows, fresh []T, order func(a, b T) int) []T {
	slices.SortFunc(fresh, order)
	end := len(rows)
	rows = append(rows, fresh...)
	for n, f := range slices.Backward(fresh) {
		at, _ := slices.BinarySearchFunc(rows[:end], f, order)
		copy(rows[at+n+1:], rows[at:end])
		rows[at+n], end = f, at
	}
	return rows
}
