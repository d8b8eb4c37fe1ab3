package archive

import (
	"cmp"
	"iter"
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
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

// Named yields the cells with the names of their columns.
func (r Row) Named(columns []Column) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for n, c := range r.All() {
			if n >= len(columns) || !yield(columns[n].Name, c) {
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

// Hits returns which cells differ, but for ages.
func Hits(columns []Column, old, now Row) []byte {
	var hits []byte
	for i, c := range now.All() {
		if i < len(columns) && columns[i].Age {
			continue
		}
		if i >= old.Len() || old.Cell(i) != c {
			hits = append(hits, byte(i))
		}
	}
	return hits
}

// What says which cells changed, and how, in at most so many bytes.
func What(columns []Column, hits []byte, old, now Row, most int) string {
	var parts []string
	for _, n := range hits {
		i := int(n)
		if i >= old.Len() || i >= len(columns) {
			continue
		}
		parts = append(parts, columns[i].Name+" "+side(old.Cell(i))+" → "+side(now.Cell(i)))
	}
	return printable.Cut(strings.Join(parts, ", "), most)
}

func side(cell string) string { return cmp.Or(printable.Cut(cell, 40), "none") }
