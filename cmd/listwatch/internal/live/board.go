package live

import (
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
	table    *print.Table                        // which lays the rows out, and prints nothing
	cellsOf  func(*record.Record) ([]any, error) // of table
	types    map[kube.Resource]*section
	sections []*section // the same, by name
	places   []place
	fresh    func() []monitor.Freshness // of the places; may be nil
	objects  int
	events   int
	pace     int      // rows that are looked at before keys are read again
	leaving  []leaver // by time
	history  history
	notes    []note

	query    query
	typing   bool // a query is being typed
	typed    string
	sort     int // a column; 0 = the namespace and name
	reverse  bool
	help     bool
	manual   pane     // of the help
	view     pane     // of the table
	at       *liveRow // that is selected; nil = none
	index    int      // its number, of those that are shown
	first    int      // the number of the first row on the screen
	detail   *detail  // that is shown; nil = the table is
	page     int      // lines of the body, when last drawn
	lastLine int
	width    int // of the screen, when last drawn
	widest   int // of the lines that were drawn last
	frame    int // the number of the last drawing
}

// leaver is a row whose object was deleted.
type leaver struct {
	*section
	row *liveRow
	at  time.Time
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
	b := &board{format: o, table: print.NewTable(o), types: map[kube.Resource]*section{}, frame: 1, pace: workRows, history: history{most: maxHistory}}
	b.cellsOf = b.table.Cells
	return b
}

// section returns the section of a type.
func (b *board) section(r kube.Resource) *section {
	family := target.Family(r)
	s := b.types[family]
	if s == nil {
		s = &section{resource: r, rows: map[rowKey]*liveRow{}}
		b.types[family] = s
		b.sections = append(b.sections, s)
		slices.SortStableFunc(b.sections, func(x, y *section) int { return strings.Compare(x.resource.String(), y.resource.String()) })
	}
	return s
}

// apply takes in the event of an object.
func (b *board) apply(r *record.Record) {
	cols := r.Columns
	if cols == nil {
		cols = &table.NoColumns
	}
	s := b.section(r.Resource)
	if s.Layout == nil || s.Columns != cols && !slices.Equal(*s.Columns, *cols) {
		s.Layout = b.table.Layout(cols, r.Resource.Namespaced)
	}
	key := rowKey{r.Cluster, r.Key()}
	row := s.rows[key]
	if row == nil {
		row = &liveRow{key: key}
		s.rows[key] = row
	} else if !row.deleted() {
		b.objects--
	}
	if r.Type == string(watch.Deleted) {
		b.leaving = append(b.leaving, leaver{s, row, r.Time})
	} else {
		b.objects++
	}
	if !r.Initial {
		b.events++
		b.history.add(row, r)
	}
	b.take(s, row, r)
	s.enqueue(row)
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
	n := 0
	for ; n < len(b.leaving) && now.Sub(b.leaving[n].at) >= leaveAfter; n++ {
		l := b.leaving[n]
		if !l.row.deleted() || !l.row.last.Time.Equal(l.at) || l.row.gone {
			continue // it was created again
		}
		l.row.gone = true
		l.row.match = b.selects(l.row)
		l.row.leaves, l.moved = l.row.inOrder, true
		delete(l.rows, l.row.key)
		b.settle(l.section)
	}
	b.leaving = slices.Delete(b.leaving, 0, n)
}

// workRows is the default of pace.
const workRows = 500

// work looks at some of the rows that wait for it, and reports whether there are more.
// Where cells need not be built for that, it looks at all.
func (b *board) work() (more bool) {
	left, began := b.pace, time.Now()
	for _, s := range b.sections {
		most := len(s.queue)
		if b.sort > 0 || b.query.holds != nil {
			most = min(most, left)
		}
		n := 0
		for n < most && (n == 0 || b.query.holds == nil || time.Since(began) < stepTime) {
			b.look(s, s.queue[n])
			n++
		}
		left -= n
		s.queue = slices.Delete(s.queue, 0, n)
		b.settle(s)
		more = more || len(s.queue) > 0
	}
	return more
}

// waiting returns how many rows wait to be looked at before a new order or filter is shown.
func (b *board) waiting() (n int) {
	for _, s := range b.sections {
		if s.stale {
			n += len(s.queue)
		}
	}
	return n
}

// shown returns how many rows are shown.
func (b *board) shown() (n int) {
	for _, s := range b.sections {
		n += len(s.order)
	}
	return n
}

// again has all rows looked at, for another filter or order.
func (b *board) again() {
	for _, s := range b.sections {
		s.begin()
	}
}

// press is a key, by its name or as what it types. It reports whether to quit.
func (b *board) press(key, typed string) (quit bool) {
	if b.typing {
		b.write(key, typed)
		return false
	}
	switch key {
	case "q":
		return true
	case "/":
		b.typing, b.typed = true, b.query.text
	case "esc":
		b.back()
	case "enter":
		if b.pane() == &b.view {
			b.open()
		}
	case "s":
		widest := 0
		for _, s := range b.sections {
			widest = max(widest, len(s.Header))
		}
		b.sort = (b.sort + 1) % (widest + 1)
		b.again()
	case "r":
		b.reverse = !b.reverse
		b.again()
	case "?":
		b.help = !b.help
	default:
		b.scroll(key)
	}
	return false
}
