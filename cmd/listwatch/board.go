package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// board is what --live shows: the rows of all objects, each where it stands. It
// knows no terminal; it is for one goroutine.
type board struct {
	*output
	sections map[kube.Resource]*section
	events   int
	notes    []note
	closed   bool // the watch has ended

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
	*layout
	resource kube.Resource
	rows     map[kube.Key]*liveRow
}

type liveRow struct {
	key     kube.Key
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

func newBoard(o *output) *board { return &board{output: o, sections: map[kube.Resource]*section{}} }

// apply takes in the event of an object.
func (b *board) apply(r *record) {
	t := table{output: b.output, layouts: map[kube.Resource]*layout{}}
	cols := r.columns
	if cols == nil {
		cols = &noColumns
	}
	s := b.sections[r.resource]
	if s == nil {
		s = &section{resource: r.resource, rows: map[kube.Key]*liveRow{}}
		b.sections[r.resource] = s
	}
	if s.layout == nil || s.columns != cols && !slices.Equal(*s.columns, *cols) {
		s.layout = t.layout(cols, r.resource.Namespaced)
	}
	cells, err := t.cells(r)
	if err != nil {
		cells = []any{r.id.Name}
	}
	row := &liveRow{key: kube.Key{Namespace: r.id.Namespace, Name: r.id.Name}, event: r.Type, at: r.time, initial: r.initial, age: -1}
	if b.namespaces && r.resource.Namespaced {
		row.cells = append(row.cells, printable(r.id.Namespace))
	}
	for _, i := range s.shown {
		text := ""
		if i < len(cells) {
			text = printable(textOf(cells[i]))
		}
		if (*cols)[i].Name == "Age" {
			row.age = len(row.cells)
			row.created = createdOf(r)
		}
		row.cells = append(row.cells, text)
	}
	if labels, err := b.labelCells(r); err == nil {
		row.cells = append(row.cells, labels...)
	}
	old := s.rows[row.key]
	row.changed = make([]time.Time, len(row.cells))
	for i := range row.cells {
		switch {
		case old == nil, r.Type != string(watch.Modified), i >= len(old.cells):
		case old.cells[i] != row.cells[i] && i != row.age:
			row.changed[i] = r.time
		default:
			row.changed[i] = old.changed[i]
		}
	}
	s.rows[row.key] = row
	s.fit(row.cells)
	if !r.initial {
		b.events++
	}
}

func textOf(cell any) string { return text(cell) }

// createdOf is when the object of a row was made; zero where the row does not say.
func createdOf(r *record) time.Time {
	var o struct {
		Metadata struct {
			Created time.Time `json:"creationTimestamp"`
		} `json:"metadata"`
		Rows []struct {
			Object struct {
				Metadata struct {
					Created time.Time `json:"creationTimestamp"`
				} `json:"metadata"`
			} `json:"object"`
		} `json:"rows"`
	}
	if r.object.Decode(&o) != nil {
		return time.Time{}
	}
	if len(o.Rows) > 0 {
		return o.Rows[0].Object.Metadata.Created
	}
	return o.Metadata.Created
}

// note takes in what would have been said on stderr.
func (b *board) note(text string, at time.Time) {
	const most = 100
	b.notes = append(b.notes, note{printable(text), at})
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

// count returns how many objects there are, and how many rows match the filter.
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

// draw returns the lines of a screen.
func (b *board) draw(width, height int, now time.Time) []string {
	if height < 3 || width < 10 {
		return []string{clipTo("too small", width)}
	}
	body := b.body(now)
	b.page, b.lastLine = height-2, len(body)
	b.top = max(0, min(b.top, len(body)-b.page))
	lines := []string{b.invert(clipTo(b.status(now), width), width)}
	for i := b.top; i < len(body) && len(lines) < height-1; i++ {
		lines = append(lines, body[i].paint(b.color, width))
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines, clipTo(b.foot(now), width))
}

// status is the first line.
func (b *board) status(now time.Time) string {
	text := count(b.count(), "object") + ", " + count(b.events, "event")
	if b.filter != "" && !b.typing {
		text += ", with " + strconv.Quote(b.filter)
	}
	if over := b.lastLine - b.page; over > 0 {
		text += fmt.Sprintf(", lines %d to %d of %d", b.top+1, min(b.top+b.page, b.lastLine), b.lastLine)
	}
	if b.closed {
		text += ", ended"
	}
	return text
}

const keys = "q quit   / filter   s sort   r reverse   arrows scroll   ? help"

// foot is the last line: what is being typed, what there is to say, or the keys.
func (b *board) foot(now time.Time) string {
	switch n := len(b.notes); {
	case b.typing:
		return "/" + b.filter + "_   (enter keeps it, esc drops it)"
	case b.help:
		return keys
	case n > 0 && now.Sub(b.notes[n-1].at) < noteFor:
		return strings.TrimSpace(b.notes[n-1].text)
	}
	return keys
}

// line is a line of the body: cells, apart as in other tables.
type line struct {
	*layout
	mark  string
	cells []string
	fresh []bool // cells to be highlighted
	gone  bool
	head  bool
}

func (b *board) body(now time.Time) []line {
	b.tidy(now)
	sections := make([]*section, 0, len(b.sections))
	for _, s := range b.sections {
		sections = append(sections, s)
	}
	slices.SortFunc(sections, func(a, c *section) int { return strings.Compare(a.resource.String(), c.resource.String()) })
	var lines []line
	for _, s := range sections {
		if len(lines) > 0 {
			lines = append(lines, line{layout: s.layout})
		}
		if len(sections) > 1 {
			lines = append(lines, line{layout: &layout{widths: []int{0}}, mark: " ", cells: []string{s.resource.GroupResource()}, head: true})
		}
		if b.headers {
			lines = append(lines, line{layout: s.layout, mark: " ", cells: b.header(s), head: true})
		}
		for _, row := range b.sorted(s) {
			lines = append(lines, b.line(s, row, now))
		}
	}
	return lines
}

// header marks the column that is sorted by.
func (b *board) header(s *section) []string {
	h := slices.Clone(s.header)
	if i := b.sort - 1; i >= 0 && i < len(h) {
		h[i] += map[bool]string{false: "^", true: "v"}[b.reverse]
		s.fit(h)
	}
	return h
}

func (b *board) line(s *section, row *liveRow, now time.Time) line {
	l := line{layout: s.layout, mark: " ", cells: slices.Clone(row.cells), fresh: make([]bool, len(row.cells))}
	if row.age >= 0 && !row.created.IsZero() && row.event != string(watch.Deleted) {
		l.cells[row.age] = age(now.Sub(row.created))
		s.fit(l.cells)
	}
	if recent := now.Sub(row.at) < freshFor; row.event == string(watch.Deleted) {
		l.mark, l.gone = "-", true
	} else if recent && row.event == string(watch.Added) && !row.initial {
		l.mark = "+"
	} else if recent && row.event == string(watch.Modified) {
		l.mark = "~"
	}
	for i, at := range row.changed {
		l.fresh[i] = !at.IsZero() && now.Sub(at) < freshFor
	}
	return l
}

// sorted returns the rows that match the filter, in order.
func (b *board) sorted(s *section) []*liveRow {
	var rows []*liveRow
	want := strings.ToLower(b.filter)
	for _, row := range s.rows {
		if want == "" || strings.Contains(strings.ToLower(row.key.Namespace+" "+strings.Join(row.cells, " ")), want) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(x, y *liveRow) int {
		order := 0
		if i := b.sort - 1; i >= 0 && i < len(x.cells) && i < len(y.cells) {
			if i == x.age && !x.created.IsZero() && !y.created.IsZero() {
				order = y.created.Compare(x.created) // the youngest first
			} else {
				order = compareCells(x.cells[i], y.cells[i])
			}
		}
		order = cmp.Or(order, x.key.Compare(y.key))
		if b.reverse {
			return -order
		}
		return order
	})
	return rows
}

// compareCells compares as numbers what begins with some: 2, 10, 3/4, 12%.
func compareCells(a, b string) int {
	if x, ok := leading(a); ok {
		if y, ok := leading(b); ok {
			return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
		}
	}
	return strings.Compare(a, b)
}

func leading(s string) (int, bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
	if i < 0 {
		i = len(s)
	}
	n, err := strconv.Atoi(s[:i])
	return n, err == nil
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
			widest = max(widest, len(s.header))
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

const (
	faint  = "\x1b[2;9m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// paint lays the cells out and cuts the line at the width of the screen.
func (l *line) paint(color bool, width int) string {
	if l.cells == nil {
		return ""
	}
	var out strings.Builder
	used := 0
	put := func(s, style string) {
		s = clipTo(s, width-used)
		used += displayWidth(s)
		if color && style != "" && s != "" {
			s = style + s + plain
		}
		out.WriteString(s)
	}
	style := func(i int) string {
		switch {
		case l.head:
			return bold
		case l.gone:
			return faint
		case i < 0:
			return eventColor(map[string]string{"+": "ADDED", "~": "MODIFIED"}[l.mark])
		case i < len(l.fresh) && l.fresh[i]:
			return yellow
		}
		return ""
	}
	put(l.mark+" ", style(-1))
	for i, s := range l.cells {
		put(s, style(i))
		if i < len(l.cells)-1 && i < len(l.widths) {
			put(strings.Repeat(" ", max(l.widths[i]+padding, minWidth)-displayWidth(s)), "")
		}
	}
	return out.String()
}

// invert draws the status line.
func (b *board) invert(s string, width int) string {
	if !b.color {
		return s
	}
	return "\x1b[7m" + s + strings.Repeat(" ", width-displayWidth(s)) + plain
}

// clipTo cuts s at so many columns, and marks the cut.
func clipTo(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if displayWidth(s) <= width {
		return s
	}
	n, used := 0, 0
	for i, r := range s {
		if used+runeWidth(r) > width-1 {
			break
		}
		used += runeWidth(r)
		n = i + len(string(r))
	}
	return s[:n] + "…"
}
