package live

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// section is the table of one type. Its rows are looked at once after each event, for
// whether they are shown and where; their cells are built when they are on the screen.
type section struct {
	*print.Layout
	resource kube.Resource
	rows     map[rowKey]*liveRow

	order []*liveRow // those that are shown, in order
	added []*liveRow // those that are to be put in order, in any
	queue []*liveRow // those that are to be looked at
	stale bool       // all are looked at again; order is that of before until then
	moved bool       // order has rows that are not shown there any more
}

// rowKey names an object of a section.
type rowKey struct {
	cluster string
	kube.Key
}

func (k rowKey) compare(o rowKey) int {
	return cmp.Or(strings.Compare(k.cluster, o.cluster), k.Key.Compare(o.Key))
}

// liveRow is an object.
type liveRow struct {
	key     rowKey
	last    record.Record // without the state before
	initial bool          // it was there when we began, and nothing has happened since
	gone    bool          // it was deleted, and its row has left

	layout  *print.Layout // of cells
	cells   []string      // nil = not built
	created time.Time     // of the object; zero where it is not known
	age     int           // the cell that is its age; -1 = none
	changed []time.Time   // when each cell changed last; nil = none did
	drawn   int           // the last frame that shows it

	changes []*change // in this run, the oldest first
	dropped int       // earlier changes

	by      string    // what it is sorted by, besides its key
	since   time.Time // the same, of a column of ages
	match   bool      // it is shown
	failed  bool      // the query fails for it
	inQueue bool
	inAdded bool
	inOrder bool
	leaves  bool // its place in order
}

func (r *liveRow) deleted() bool { return r.last.Type == string(watch.Deleted) }

// maxCell bounds a cell, in columns: nobody scrolls further.
const maxCell = 1000

// build makes the cells of row.
func (b *board) build(s *section, row *liveRow) {
	r := &row.last
	cells, err := b.cellsOf(r)
	if err != nil {
		cells = []any{r.ID.Name}
	}
	row.layout, row.age, row.cells = s.Layout, -1, nil
	if b.format.Clusters {
		row.cells = append(row.cells, printable.Cell(r.Cluster))
	}
	if b.format.Namespaces && r.Resource.Namespaced {
		row.cells = append(row.cells, printable.Cell(r.ID.Namespace))
	}
	for _, i := range s.Shown {
		cell := ""
		if i < len(cells) {
			cell = clipTo(printable.Cell(printable.Cut(table.Text(cells[i]), 4*maxCell)), maxCell)
		}
		if (*s.Columns)[i].Name == "Age" {
			row.age = len(row.cells)
			row.created = record.CreatedOf(r.Object)
		}
		row.cells = append(row.cells, cell)
	}
	if labels, err := b.format.Extra.LabelCells(r); err == nil {
		row.cells = append(row.cells, labels...)
	}
}

// current builds the cells of row if they are not those of its last event.
func (b *board) current(s *section, row *liveRow) {
	if row.cells == nil || row.layout != s.Layout {
		b.build(s, row)
	}
}

// take replaces what row shows by r. The cells of a row that is on the screen are compared
// with those before.
func (b *board) take(s *section, row *liveRow, r *record.Record) {
	old, layout, seen := row.cells, row.layout, row.drawn == b.frame
	row.last, row.initial, row.cells = *r, r.Initial, nil
	row.last.Old = codec.Raw{}
	if r.Type != string(watch.Modified) {
		row.changed = nil
	}
	if old == nil || layout != s.Layout || !seen || r.Type != string(watch.Modified) {
		return
	}
	b.build(s, row)
	if len(row.changed) != len(row.cells) {
		row.changed = make([]time.Time, len(row.cells))
	}
	for i := range row.cells {
		if i < len(old) && old[i] != row.cells[i] && i != row.age {
			row.changed[i] = r.Time
		}
	}
}

// enqueue has row looked at.
func (s *section) enqueue(row *liveRow) {
	if !row.inQueue {
		row.inQueue = true
		s.queue = append(s.queue, row)
	}
}

// begin has all rows looked at again, because what is shown or its order is to change.
func (s *section) begin() {
	s.stale, s.moved = true, false
	s.queue, s.added = s.queue[:0], s.added[:0]
	for _, row := range s.rows {
		row.inQueue, row.inAdded, row.inOrder, row.leaves = true, false, false, false
		s.queue = append(s.queue, row)
	}
}

// look decides whether row is shown, and where.
func (b *board) look(s *section, row *liveRow) {
	row.inQueue = false
	by, since := row.by, row.since
	row.by, row.since = "", time.Time{}
	if i := b.sort - 1; i >= 0 {
		b.current(s, row)
		if i == row.age {
			row.since = row.created
		}
		if i < len(row.cells) {
			row.by = row.cells[i]
		}
		if !row.since.IsZero() {
			row.by = ""
		}
	}
	row.match = b.selects(row)
	if row.match && row.inOrder && !row.leaves && by == row.by && since.Equal(row.since) {
		return
	}
	if row.inOrder {
		row.leaves, s.moved = true, true
	}
	if row.match && !row.inAdded {
		row.inAdded = true
		s.added = append(s.added, row)
	}
}

// settle puts the rows that were looked at in order. No cell is built for it.
func (b *board) settle(s *section) {
	if s.stale && len(s.queue) > 0 {
		return
	}
	if s.stale {
		s.order, s.stale = nil, false
	}
	if s.moved {
		s.order = slices.DeleteFunc(s.order, func(row *liveRow) bool {
			if !row.leaves {
				return false
			}
			row.leaves, row.inOrder = false, false
			return true
		})
		s.moved = false
	}
	if len(s.added) == 0 {
		return
	}
	more := s.added[:0]
	for _, row := range s.added {
		row.inAdded = false
		if row.match && !row.inOrder {
			row.inOrder = true
			more = append(more, row)
		}
	}
	slices.SortFunc(more, b.compare)
	s.order = merge(s.order, more, b.compare)
	clear(s.added)
	s.added = s.added[:0]
}

// merge returns the rows of two ordered lists in order.
func merge(a, b []*liveRow, compare func(x, y *liveRow) int) []*liveRow {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return slices.Clone(b)
	}
	all := make([]*liveRow, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(b[0], a[0]) < 0 {
			all, b = append(all, b[0]), b[1:]
		} else {
			all, a = append(all, a[0]), a[1:]
		}
	}
	return append(append(all, a...), b...)
}

// compare compares two rows by the column that is sorted by.
func (b *board) compare(x, y *liveRow) int {
	order := 0
	if b.sort > 0 {
		if order = y.since.Compare(x.since); order == 0 { // the youngest first
			order = compareCells(x.by, y.by)
		}
	}
	order = cmp.Or(order, x.key.compare(y.key))
	if b.reverse {
		return -order
	}
	return order
}
