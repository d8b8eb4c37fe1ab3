package live

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// board is what --live shows: the rows of all objects, each where it stands. It
// knows no terminal; it is for one goroutine.
type board struct {
	format   *print.Format
	table    *print.Table // which lays the rows out, and prints nothing
	sections map[kube.Resource]*section
	places   []place
	fresh    func() []monitor.Freshness // of the places; may be nil
	events   int
	notes    []note

	filter   string // what rows must contain
	typing   bool   // the filter is being typed
	sort     int    // a column; 0 = the namespace and name
	reverse  bool
	help     bool
	top      int // the first line shown
	page     int // lines of the body, when last drawn
	lastLine int
}

// section is the table of one type.
type section struct {
	*print.Layout
	resource kube.Resource
	rows     map[rowKey]*liveRow
}

// rowKey names an object of a section.
type rowKey struct {
	cluster string
	kube.Key
}

func (k rowKey) compare(o rowKey) int {
	return cmp.Or(strings.Compare(k.cluster, o.cluster), k.Key.Compare(o.Key))
}

type liveRow struct {
	key     rowKey
	cells   []string
	changed []time.Time // when each cell changed last
	created time.Time   // of the object
	age     int         // the cell that is its age; -1 = none
	event   string      // the last
	at      time.Time   // of the last event
	initial bool        // it was there when we began, and nothing has happened since
}

// note is something that would have been said on stderr.
type note struct {
	text string
	at   time.Time
}

const (
	leaveAfter = 10 * time.Second // rows of deleted objects
	freshFor   = 3 * time.Second  // marks of what has changed
	noteFor    = 30 * time.Second
)

func newBoard(o *print.Format) *board {
	return &board{format: o, table: print.NewTable(o), sections: map[kube.Resource]*section{}}
}

// apply takes in the event of an object.
func (b *board) apply(r *record.Record) {
	cols := r.Columns
	if cols == nil {
		cols = &table.NoColumns
	}
	s := b.sections[target.Family(r.Resource)]
	if s == nil {
		s = &section{resource: r.Resource, rows: map[rowKey]*liveRow{}}
		b.sections[target.Family(r.Resource)] = s
	}
	if s.Layout == nil || s.Columns != cols && !slices.Equal(*s.Columns, *cols) {
		s.Layout = b.table.Layout(cols, r.Resource.Namespaced)
	}
	cells, err := b.table.Cells(r)
	if err != nil {
		cells = []any{r.ID.Name}
	}
	row := &liveRow{key: rowKey{r.Cluster, r.Key()}, event: r.Type, at: r.Time, initial: r.Initial, age: -1}
	if b.format.Clusters {
		row.cells = append(row.cells, printable.Cell(r.Cluster))
	}
	if b.format.Namespaces && r.Resource.Namespaced {
		row.cells = append(row.cells, printable.Cell(r.ID.Namespace))
	}
	for _, i := range s.Shown {
		cell := ""
		if i < len(cells) {
			cell = printable.Cell(table.Text(cells[i]))
		}
		if (*cols)[i].Name == "Age" {
			row.age = len(row.cells)
			row.created = record.CreatedOf(r.Object)
		}
		row.cells = append(row.cells, cell)
	}
	if labels, err := b.format.Extra.LabelCells(r); err == nil {
		row.cells = append(row.cells, labels...)
	}
	old := s.rows[row.key]
	row.changed = make([]time.Time, len(row.cells))
	for i := range row.cells {
		switch {
		case old == nil, r.Type != string(watch.Modified), i >= len(old.cells):
		case old.cells[i] != row.cells[i] && i != row.age:
			row.changed[i] = r.Time
		default:
			row.changed[i] = old.changed[i]
		}
	}
	s.rows[row.key] = row
	s.Fit(row.cells)
	if !r.Initial {
		b.events++
	}
}

// note takes in what would have been said on stderr.
func (b *board) note(text string, at time.Time) {
	const most = 100
	b.notes = append(b.notes, note{printable.Cell(text), at})
	if len(b.notes) > most {
		b.notes = b.notes[len(b.notes)-most:]
	}
}

// tidy forgets the rows of objects that have been gone for long enough.
func (b *board) tidy(now time.Time) {
	for _, s := range b.sections {
		for key, row := range s.rows {
			if row.event == string(watch.Deleted) && now.Sub(row.at) >= leaveAfter {
				delete(s.rows, key)
			}
		}
	}
}

// count returns how many objects there are.
func (b *board) count() (objects int) {
	for _, s := range b.sections {
		for _, row := range s.rows {
			if row.event != string(watch.Deleted) {
				objects++
			}
		}
	}
	return objects
}

// press is a key, by its name or as what it types. It reports whether to quit.
func (b *board) press(key, typed string) (quit bool) {
	if b.typing {
		switch key {
		case "enter":
			b.typing = false
		case "esc":
			b.typing, b.filter = false, ""
		case "backspace":
			if r := []rune(b.filter); len(r) > 0 {
				b.filter = string(r[:len(r)-1])
			}
		default:
			b.filter += typed
		}
		return false
	}
	switch key {
	case "q":
		return true
	case "/":
		b.typing, b.filter = true, ""
	case "esc":
		b.filter, b.help = "", false
	case "s":
		widest := 0
		for _, s := range b.sections {
			widest = max(widest, len(s.Header))
		}
		b.sort = (b.sort + 1) % (widest + 1)
	case "r":
		b.reverse = !b.reverse
	case "?":
		b.help = !b.help
	case "down", "j":
		b.top++
	case "up", "k":
		b.top = max(0, b.top-1)
	case "pgdown", "space":
		b.top += b.page
	case "pgup":
		b.top = max(0, b.top-b.page)
	case "home", "g":
		b.top = 0
	case "end", "G":
		b.top = b.lastLine
	}
	return false
}
