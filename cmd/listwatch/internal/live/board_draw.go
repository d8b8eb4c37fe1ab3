package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/watch"
)

// draw returns the lines of a screen.
func (b *board) draw(width, height int, now time.Time) []string {
	if height < 3 || width < 10 {
		return []string{clipTo("too small", width)}
	}
	body := b.body(now)
	if b.help {
		body = b.keys()
	}
	head, behind := b.header(now, width, (height-2)/3)
	foot := b.foot(now, width, height/3, behind)
	b.page, b.lastLine = height-1-len(head)-len(foot), len(body)
	b.top = max(0, min(b.top, len(body)-b.page))
	lines := append([]string{b.invert(clipTo(b.status(), width), width)}, head...)
	for i := b.top; i < len(body) && i < b.top+b.page; i++ {
		lines = append(lines, body[i].paint(b.format.Color, width))
	}
	for len(lines) < height-len(foot) {
		lines = append(lines, "")
	}
	return append(lines, foot...)
}

// status is the first line.
func (b *board) status() string {
	text := printable.Count(b.count(), "object") + ", " + printable.Count(b.events, "event")
	if b.filter != "" && !b.typing {
		text += ", with " + strconv.Quote(b.filter)
	}
	if over := b.lastLine - b.page; over > 0 {
		text += fmt.Sprintf(", lines %d to %d of %d", b.top+1, min(b.top+b.page, b.lastLine), b.lastLine)
	}
	return text
}

const keys = "q quit   / filter   s sort   r reverse   arrows scroll   ? help"

// keys are the lines of the help.
func (b *board) keys() []line {
	l := &print.Layout{Widths: []int{14, 0}}
	lines := []line{{Layout: l, mark: " ", cells: []string{"KEY", "WHAT IT DOES"}, head: true}}
	for _, k := range [][]string{
		{"q, Ctrl-C", "quit"},
		{"/", "show only the rows with a text: Enter keeps it, Esc drops it"},
		{"s", "sort by the next column; after the last one by namespace and name"},
		{"r", "reverse the order"},
		{"Up, Down, k, j", "scroll by a line"},
		{"PgUp, PgDn", "scroll by a page; so does Space"},
		{"Home, End", "go to the first or the last row; so do g and G"},
		{"Ctrl-Z", "suspend"},
		{"?", "show or hide this"},
	} {
		lines = append(lines, line{Layout: l, mark: " ", cells: k})
	}
	return lines
}

// foot returns the last lines: what is being typed, a message in at most so many lines, or
// the keys. A message stays for some time, and while something is not current.
func (b *board) foot(now time.Time, width, most int, behind bool) []string {
	text := keys
	switch n := len(b.notes); {
	case b.typing:
		text = "/" + b.filter + "_   (enter keeps it, esc drops it)"
	case b.help:
		text = "? or Esc ends the help"
	case n > 0 && (behind || now.Sub(b.notes[n-1].at) < noteFor):
		return wrapTo(strings.TrimSpace(b.notes[n-1].text), width, most)
	}
	return []string{clipTo(text, width)}
}

// line is a line of the body: cells, apart as in other tables.
type line struct {
	*print.Layout
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
			lines = append(lines, line{Layout: s.Layout})
		}
		if len(sections) > 1 {
			lines = append(lines, line{Layout: &print.Layout{Widths: []int{0}}, mark: " ", cells: []string{printable.Cell(s.resource.GroupResource())}, head: true})
		}
		if b.format.Headers {
			lines = append(lines, line{Layout: s.Layout, mark: " ", cells: b.titles(s), head: true})
		}
		for _, row := range b.sorted(s) {
			lines = append(lines, b.line(s, row, now))
		}
	}
	return lines
}

// titles are the header of s. They mark the column that is sorted by.
func (b *board) titles(s *section) []string {
	h := slices.Clone(s.Header)
	if i := b.sort - 1; i >= 0 && i < len(h) {
		h[i] += map[bool]string{false: "^", true: "v"}[b.reverse]
		s.Fit(h)
	}
	return h
}

func (b *board) line(s *section, row *liveRow, now time.Time) line {
	l := line{Layout: s.Layout, mark: " ", cells: slices.Clone(row.cells), fresh: make([]bool, len(row.cells))}
	if row.age >= 0 && !row.created.IsZero() && row.event != string(watch.Deleted) {
		l.cells[row.age] = print.Age(now.Sub(row.created))
		s.Fit(l.cells)
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
		if want == "" || strings.Contains(strings.ToLower(row.key.cluster+" "+row.key.Namespace+" "+strings.Join(row.cells, " ")), want) {
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
		order = cmp.Or(order, x.key.compare(y.key))
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

const (
	faint  = "\x1b[2;9m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
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
		used += print.DisplayWidth(s)
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
			return print.EventColor(map[string]string{"+": "ADDED", "~": "MODIFIED"}[l.mark])
		case i < len(l.fresh) && l.fresh[i]:
			return yellow
		}
		return ""
	}
	put(l.mark+" ", style(-1))
	for i, s := range l.cells {
		put(s, style(i))
		if i < len(l.cells)-1 && i < len(l.Widths) {
			put(strings.Repeat(" ", l.Space(i, s)), "")
		}
	}
	return out.String()
}

// invert draws the status line.
func (b *board) invert(s string, width int) string {
	if !b.format.Color {
		return s
	}
	return "\x1b[7m" + s + strings.Repeat(" ", width-print.DisplayWidth(s)) + plain
}

// clipTo cuts s at so many columns, and marks the cut.
func clipTo(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if print.DisplayWidth(s) <= width {
		return s
	}
	n, used := 0, 0
	for i, r := range s {
		if used+print.RuneWidth(r) > width-1 {
			break
		}
		used += print.RuneWidth(r)
		n = i + len(string(r))
	}
	return s[:n] + "…"
}

// wrapTo breaks s into at most so many lines, at spaces where there are some. It cuts the last line.
func wrapTo(s string, width, most int) (lines []string) {
	for len(lines) < most-1 && print.DisplayWidth(s) > width {
		end, next, used := 0, 0, 0
		for i, r := range s {
			if r == ' ' {
				end, next = i, i+1
			}
			if used += print.RuneWidth(r); used > width {
				if end == 0 {
					end, next = i, i
				}
				break
			}
		}
		lines = append(lines, s[:end])
		s = s[next:]
	}
	return append(lines, clipTo(s, width))
}
