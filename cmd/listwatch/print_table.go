package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// table prints rows in columns that grow and never shrink. Rows are kept until
// flush, so that those that come together are aligned together.
type table struct {
	format  *format
	layouts map[kube.Resource]*layout
	last    *layout
	rows    []row
	held    int   // bytes of the cells of rows
	ends    []int // of the rows that were flushed last
}

// layout is how the rows of one resource are laid out.
type layout struct {
	columns *columns
	shown   []int // indices of columns
	header  []string
	widths  []int
	width   int // the sum of widths
}

type row struct {
	*layout
	event string
	cells []string // nil = the header
}

func newTable(o *format) *table {
	return &table{format: o, layouts: map[kube.Resource]*layout{}}
}

func (t *table) encode(b []byte, r *record) ([]byte, error) {
	cells, err := t.cells(r)
	if err != nil {
		return b, err
	}
	cols := r.columns
	if cols == nil {
		cols = &noColumns
	}
	l := t.layouts[r.resource]
	if l == nil || l.columns != cols && !slices.Equal(*l.columns, *cols) {
		l = t.layout(cols, r.resource.Namespaced)
		t.layouts[r.resource] = l
		if t.format.headers {
			t.add(row{layout: l})
		}
	}
	out := make([]string, 0, len(l.header))
	if t.format.extra.stamps != "" {
		out = append(out, t.format.extra.stamp(r))
	}
	if t.format.events {
		out = append(out, r.Type)
	}
	if t.format.namespaces && r.resource.Namespaced {
		out = append(out, printable.Cell(r.id.Namespace))
	}
	for _, i := range l.shown {
		s := ""
		if i < len(cells) {
			s = printable.Cell(text(cells[i]))
		}
		if t.format.kinds && i == l.name() {
			s = printable.Cell(kubectlType(r.resource)) + "/" + s
		}
		out = append(out, s)
	}
	labels, err := t.format.extra.labelCells(r)
	if err != nil {
		return b, err
	}
	out = append(out, labels...)
	l.fit(out)
	t.add(row{layout: l, event: r.Type, cells: out})
	return b, nil
}

// add keeps r until flush.
func (t *table) add(r row) {
	for _, cell := range r.cells {
		t.held += len(cell)
	}
	t.rows = append(t.rows, r)
}

// cells returns the cells of r's row.
func (t *table) cells(r *record) ([]any, error) {
	if r.object.GetKind() != "Table" {
		created := createdOf(r.object)
		if created.IsZero() {
			return []any{r.id.Name, "<unknown>"}, nil
		}
		return []any{r.id.Name, age(r.time.Sub(created))}, nil
	}
	var one struct {
		Rows []struct {
			Cells []any `json:"cells"`
		} `json:"rows"`
	}
	if err := r.object.Decode(&one); err != nil {
		return nil, err
	}
	if len(one.Rows) == 0 {
		return []any{r.id.Name}, nil
	}
	return one.Rows[0].Cells, nil
}

func (t *table) layout(cols *columns, namespaced bool) *layout {
	l := &layout{columns: cols}
	if t.format.extra.stamps != "" {
		l.header = append(l.header, "TIME")
	}
	if t.format.events {
		l.header = append(l.header, "EVENT")
	}
	if t.format.namespaces && namespaced {
		l.header = append(l.header, "NAMESPACE")
	}
	for i, c := range *cols {
		if (c.Priority == 0 || t.format.name == "wide") && len(l.shown) < maxColumns {
			l.shown = append(l.shown, i)
			l.header = append(l.header, strings.ToUpper(printable.Cell(c.Name)))
		}
	}
	l.header = append(l.header, t.format.extra.labelHeaders()...)
	l.widths = make([]int, len(l.header))
	if t.format.events {
		l.grow(t.eventAt(), len("MODIFIED")) // the widest: no jump at the first change
	}
	if t.format.headers {
		l.fit(l.header)
	}
	return l
}

// eventAt is the index of the EVENT column.
func (t *table) eventAt() int {
	if t.format.extra.stamps != "" {
		return 1
	}
	return 0
}

// name returns the index of the column that holds the name.
func (l *layout) name() int {
	for i, c := range *l.columns {
		if c.Format == "name" {
			return i
		}
	}
	return 0
}

func (l *layout) fit(cells []string) {
	for i, s := range cells {
		if i < len(l.widths)-1 { // nothing stands behind the last
			l.grow(i, displayWidth(s))
		}
	}
}

// grow makes column i as wide as width, as far as maxAligned allows.
func (l *layout) grow(i, width int) {
	more := min(max(width-l.widths[i], 0), maxAligned-l.width)
	l.widths[i] += more
	l.width += more
}

// Columns are apart and wide as kubectl's are.
const (
	padding  = 3
	minWidth = 6 // padding included
)

// One long cell is not paid for by spaces in every other row.
const (
	maxColumns = 1000     // shown of a server's
	maxAligned = 64 << 10 // width of all columns; cells beyond stand where those before them end
)

// space is how many spaces stand behind the cell s of column i.
func (l *layout) space(i int, s string) int {
	return max(max(l.widths[i]+padding, minWidth)-displayWidth(s), padding)
}

func (t *table) flush(b []byte) []byte {
	t.ends = append(t.ends[:0], len(b))
	for _, r := range t.rows {
		if r.cells == nil {
			if t.format.list && t.last != nil {
				b = append(b, '\n') // kubectl sets types apart
			}
			t.last = r.layout
			r.cells, r.event = r.header, ""
		}
		b = t.line(b, r)
		t.ends = append(t.ends, len(b))
	}
	clear(t.rows)
	t.rows, t.held = t.rows[:0], 0
	return b
}

func (t *table) line(b []byte, r row) []byte {
	for i, s := range r.cells {
		if color := eventColor(r.event); i == t.eventAt() && t.format.events && t.format.color && color != "" {
			b = append(append(append(b, color...), s...), "\x1b[0m"...)
		} else {
			b = append(b, s...)
		}
		if i == len(r.cells)-1 {
			break
		}
		for range r.space(i, s) {
			b = append(b, ' ')
		}
	}
	return append(b, '\n')
}

func (t *table) end(b []byte) ([]byte, error) { return b, nil }

// eventColor is beside the word, never instead of it.
func eventColor(event string) string {
	switch event {
	case "ADDED":
		return "\x1b[32m"
	case "MODIFIED":
		return "\x1b[33m"
	case "DELETED":
		return "\x1b[31m"
	}
	return ""
}

// text prints a cell as kubectl does.
func text(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case map[string]any, []any:
		b, err := codec.Encode(v)
		if err != nil {
			return "<unknown>"
		}
		return string(b)
	}
	return fmt.Sprint(cell)
}

// age prints a duration as kubectl's AGE: two units at most, the second one only
// where it matters.
func age(d time.Duration) string {
	s := int(d.Seconds())
	if s < 0 {
		return "0s"
	}
	two := func(a int, unit string, b int, small string) string {
		if b == 0 {
			return fmt.Sprintf("%d%s", a, unit)
		}
		return fmt.Sprintf("%d%s%d%s", a, unit, b, small)
	}
	m, h, day := s/60, s/3600, s/86400
	switch {
	case s < 120:
		return fmt.Sprintf("%ds", s)
	case m < 10:
		return two(m, "m", s%60, "s")
	case m < 180:
		return fmt.Sprintf("%dm", m)
	case h < 8:
		return two(h, "h", m%60, "m")
	case h < 48:
		return fmt.Sprintf("%dh", h)
	case h < 192:
		return two(day, "d", h%24, "h")
	case day < 730:
		return fmt.Sprintf("%dd", day)
	case day < 8*365:
		return two(day/365, "y", day%365, "d")
	}
	return fmt.Sprintf("%dy", day/365)
}

// rowed is an encoder that keeps rows until flush.
type rowed interface {
	kept() int          // rows
	size() int          // bytes of their cells
	after(rows int) int // where so many of the rows that were flushed last end
}

func (t *table) kept() int { return len(t.rows) }

func (t *table) size() int { return t.held }

func (t *table) after(rows int) int { return t.ends[rows] }
