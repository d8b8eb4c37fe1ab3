package print

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// Table prints rows in columns that grow and never shrink. Rows are kept until
// flush, so that those that come together are aligned together.
type Table struct {
	format  *Format
	layouts map[kube.Resource]*Layout
	last    *Layout
	rows    []row
	held    int   // bytes of the cells of rows
	ends    []int // of the rows that were flushed last
}

// Layout is how the rows of one resource are laid out.
type Layout struct {
	Columns *table.Columns
	Shown   []int // indices of columns
	Header  []string
	Widths  []int
	width   int // the sum of widths
}

type row struct {
	*Layout
	event string
	cells []string // nil = the header
}

func NewTable(o *Format) *Table {
	return &Table{format: o, layouts: map[kube.Resource]*Layout{}}
}

func (t *Table) Encode(b []byte, r *record.Record) ([]byte, error) {
	cells, err := t.Cells(r)
	if err != nil {
		return b, err
	}
	cols := r.Columns
	if cols == nil {
		cols = &table.NoColumns
	}
	key, namespaced, kinds := r.Resource, r.Resource.Namespaced, t.format.Kinds
	if t.format.Extra.narrow {
		cells, cols = narrow(cells, cols), &narrowColumns
		key, namespaced, kinds = kube.Resource{}, true, true
	}
	l := t.layouts[key]
	if l == nil || l.Columns != cols && !slices.Equal(*l.Columns, *cols) {
		l = t.Layout(cols, namespaced)
		t.layouts[key] = l
		if t.format.Headers {
			t.add(row{Layout: l})
		}
	}
	out := make([]string, 0, len(l.Header))
	if t.format.Extra.stamps != "" {
		out = append(out, t.format.Extra.stamp(r))
	}
	if t.format.Events {
		out = append(out, r.Type)
	}
	if t.format.Clusters {
		out = append(out, printable.Cell(r.Cluster))
	}
	if t.format.Namespaces && namespaced {
		out = append(out, printable.Cell(r.ID.Namespace))
	}
	for _, i := range l.Shown {
		s := ""
		if i < len(cells) {
			s = printable.Cell(table.Text(cells[i]))
		}
		if kinds && i == l.name() {
			s = printable.Cell(target.KubectlType(r.Resource)) + "/" + s
		}
		out = append(out, s)
	}
	labels, err := t.format.Extra.LabelCells(r)
	if err != nil {
		return b, err
	}
	out = append(out, labels...)
	l.Fit(out)
	t.add(row{Layout: l, event: r.Type, cells: out})
	return b, nil
}

// add keeps r until flush.
func (t *Table) add(r row) {
	for _, cell := range r.cells {
		t.held += len(cell)
	}
	t.rows = append(t.rows, r)
}

// Cells returns the cells of r's row.
func (t *Table) Cells(r *record.Record) ([]any, error) {
	if r.Object.GetKind() != "Table" {
		created := record.CreatedOf(r.Object)
		if created.IsZero() {
			return []any{r.ID.Name, "<unknown>"}, nil
		}
		return []any{r.ID.Name, Age(r.Time.Sub(created))}, nil
	}
	var one struct {
		Rows []struct {
			Cells []any `json:"cells"`
		} `json:"rows"`
	}
	if err := r.Object.Decode(&one); err != nil {
		return nil, err
	}
	if len(one.Rows) == 0 {
		return []any{r.ID.Name}, nil
	}
	return one.Rows[0].Cells, nil
}

func (t *Table) Layout(cols *table.Columns, namespaced bool) *Layout {
	l := &Layout{Columns: cols}
	if t.format.Extra.stamps != "" {
		l.Header = append(l.Header, "TIME")
	}
	if t.format.Events {
		l.Header = append(l.Header, "EVENT")
	}
	if t.format.Clusters {
		l.Header = append(l.Header, "CLUSTER")
	}
	if t.format.Namespaces && namespaced {
		l.Header = append(l.Header, "NAMESPACE")
	}
	for i, c := range *cols {
		if (c.Priority == 0 || t.format.Name == "wide") && len(l.Shown) < maxColumns {
			l.Shown = append(l.Shown, i)
			l.Header = append(l.Header, strings.ToUpper(printable.Cell(c.Name)))
		}
	}
	l.Header = append(l.Header, t.format.Extra.labelHeaders()...)
	l.Widths = make([]int, len(l.Header))
	if t.format.Events {
		l.grow(t.eventAt(), len("MODIFIED")) // the widest: no jump at the first change
	}
	if t.format.Headers {
		l.Fit(l.Header)
	}
	return l
}

// eventAt is the index of the EVENT column.
func (t *Table) eventAt() int {
	if t.format.Extra.stamps != "" {
		return 1
	}
	return 0
}

// name returns the index of the column that holds the name.
func (l *Layout) name() int {
	for i, c := range *l.Columns {
		if c.Format == "name" {
			return i
		}
	}
	return 0
}

func (l *Layout) Fit(cells []string) {
	for i, s := range cells {
		if i < len(l.Widths)-1 { // nothing stands behind the last
			l.grow(i, DisplayWidth(s))
		}
	}
}

// grow makes column i as wide as width, as far as maxAligned allows.
func (l *Layout) grow(i, width int) {
	more := min(max(width-l.Widths[i], 0), maxAligned-l.width)
	l.Widths[i] += more
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

// Space is how many spaces stand behind the cell s of column i.
func (l *Layout) Space(i int, s string) int {
	return max(max(l.Widths[i]+padding, minWidth)-DisplayWidth(s), padding)
}

func (t *Table) Flush(b []byte) []byte {
	t.ends = append(t.ends[:0], len(b))
	for _, r := range t.rows {
		if r.cells == nil {
			if t.format.List && t.last != nil {
				b = append(b, '\n') // kubectl sets types apart
			}
			t.last = r.Layout
			r.cells, r.event = r.Header, ""
		} else if t.format.Headers && r.Layout != t.last {
			if t.format.List {
				b = append(b, '\n')
			}
			t.last = r.Layout // another type's row was printed last
			b = t.line(b, row{Layout: r.Layout, cells: r.Header})
		}
		b = t.line(b, r)
		t.ends = append(t.ends, len(b))
	}
	clear(t.rows)
	t.rows, t.held = t.rows[:0], 0
	return b
}

func (t *Table) line(b []byte, r row) []byte {
	for i, s := range r.cells {
		if color := EventColor(r.event); i == t.eventAt() && t.format.Events && t.format.Color && color != "" {
			b = append(append(append(b, color...), s...), "\x1b[0m"...)
		} else {
			b = append(b, s...)
		}
		if i == len(r.cells)-1 {
			break
		}
		for range r.Space(i, s) {
			b = append(b, ' ')
		}
	}
	return append(b, '\n')
}

func (t *Table) End(b []byte) ([]byte, error) { return b, nil }

// EventColor is beside the word, never instead of it.
func EventColor(event string) string {
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

// Age prints a duration as kubectl's AGE: two units at most, the second one only
// where it matters.
func Age(d time.Duration) string {
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

// Rowed is an encoder that keeps rows until flush.
type Rowed interface {
	Kept() int          // rows
	Size() int          // bytes of their cells
	After(rows int) int // where so many of the rows that were flushed last end
}

func (t *Table) Kept() int { return len(t.rows) }

func (t *Table) Size() int { return t.held }

func (t *Table) After(rows int) int { return t.ends[rows] }
