package archive

import (
	"iter"
	"strings"
)

// Row is the cells of an object in a list: one string, as there are many rows, and of most
// cells no two are the same. Each cell ends with a newline, which no cell contains.
type Row string

// RowOf returns a row of cells. A newline within one becomes a space.
func RowOf(cells ...string) Row {
	var b strings.Builder
	size := 0
	for _, c := range cells {
		size += len(c) + 1
	}
	b.Grow(size) // exactly: a row is kept for long
	for _, c := range cells {
		b.WriteString(strings.ReplaceAll(c, "\n", " "))
		b.WriteByte('\n')
	}
	return Row(b.String())
}

// Len returns the number of cells.
func (r Row) Len() int { return strings.Count(string(r), "\n") }

// All yields the cells with their numbers, from 0.
func (r Row) All() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for rest := string(r); rest != ""; n++ {
			var c string
			if c, rest, _ = strings.Cut(rest, "\n"); !yield(n, c) {
				return
			}
		}
	}
}

// Cell returns the n-th cell, "" if there is none.
func (r Row) Cell(n int) string {
	for i, c := range r.All() {
		if i == n {
			return c
		}
	}
	return ""
}
