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

// draw returns the lines of a screen. Only the cells of rows that are on it are built.
func (b *board) draw(width, height int, now time.Time) []string {
	if height < 3 || width < 10 {
		return []string{clipTo("too small", width)}
	}
	b.frame++
	b.tidy(now)
	head, behind := b.header(now, width, (height-2)/3)
	foot := b.foot(now, width, height/3, behind)
	b.width, b.page = width, height-1-len(head)-len(foot)
	visible, total := b.seen(now)
	b.lastLine, b.widest = total, 0
	for i := range visible {
		b.widest = max(b.widest, visible[i].width())
	}
	lines := append([]string{b.invert(clipTo(b.status(), width), width)}, head...)
	for i := range visible {
		lines = append(lines, visible[i].paint(b.format.Color, b.pane().left, width))
	}
	for len(lines) < height-len(foot) {
		lines = append(lines, "")
	}
	return append(lines, foot...)
}

// seen returns the lines between header and foot that are seen, and how many there are.
func (b *board) seen(now time.Time) (lines []line, total int) {
	switch {
	case b.help:
		return b.keys()
	case b.detail != nil:
		return b.detail.list(b, now)
	}
	return b.body(now)
}

// status is the first line.
func (b *board) status() string {
	text := printable.Count(b.objects, "object") + ", " + printable.Count(b.events, "event")
	if b.query.text != "" {
		text += fmt.Sprintf(", %s with %s", printable.Thousands(b.shown()), b.query.text)
	}
	if n := b.waiting(); n > 0 {
		text += ", " + printable.Count(n, "row") + " to look at"
	}
	if d := b.detail; d != nil && !b.help {
		text = d.name() + ", " + printable.Count(len(d.events), "Event") + ", " + printable.Count(len(d.row.changes)+d.row.dropped, "change")
	}
	if top := b.pane().top; b.lastLine > b.page {
		text += fmt.Sprintf(", lines %d to %d of %d", top+1, min(top+b.page, b.lastLine), b.lastLine)
	}
	return text
}

const keys = "? help   q quit   / filter   Enter open   s sort   r reverse   arrows move"

// keys returns the lines of the help that are seen, and how many there are.
func (b *board) keys() (lines []line, total int) {
	l := &print.Layout{Widths: []int{14, 0}}
	lines = []line{{Layout: l, mark: " ", cells: []string{"KEY", "WHAT IT DOES"}, head: true}}
	for _, k := range [][]string{
		{"q, Ctrl-C", "quit"},
		{"/", "filter by an expression of jq, as --where does, or by a part of the name"},
		{"Up, Down", "select a row; so do k and j"},
		{"Enter", "show the Events of the selected row, and its changes in this run"},
		{"Esc", "go back: to the table, to all rows, to no selected row"},
		{"s", "sort by the next column; after the last one by namespace and name"},
		{"r", "reverse the order"},
		{"PgUp, PgDn", "move by a page; so do b, f and Space; u and d by half a page"},
		{"Left, Right", "scroll by half the width; so do h and l"},
		{"Home, End", "go to the first or the last row; so do g and G"},
		{"Ctrl-Z", "suspend"},
		{"?", "show or hide this"},
	} {
		lines = append(lines, line{Layout: l, mark: " ", cells: k})
	}
	from, to := b.manual.within(len(lines), b.page)
	return lines[from:to], len(lines)
}

// foot returns the last lines: what is being typed, a message in at most so many lines, or
// the keys. A message stays for some time, and while something is not current.
func (b *board) foot(now time.Time, width, most int, behind bool) []string {
	switch n := len(b.notes); {
	case b.typing:
		return b.prompt(width, most)
	case b.help:
		return []string{clipTo("? or Esc ends the help", width)}
	case n > 0 && (behind || now.Sub(b.notes[n-1].at) < noteFor):
		return wrapTo(strings.TrimSpace(b.notes[n-1].text), width, most)
	case b.query.failed > 0:
		return wrapTo(fmt.Sprintf("the filter fails for %s, not shown: %s", printable.Count(b.query.failed, "object"), b.query.why), width, most)
	}
	return []string{clipTo(keys, width)}
}

// body returns the lines of the tables that are seen, and how many there are.
func (b *board) body(now time.Time) (lines []line, total int) {
	type part struct {
		*section
		first []line // before its rows
	}
	var parts []part
	for _, s := range b.sections {
		var first []line
		if len(parts) > 0 {
			first = append(first, line{Layout: s.Layout})
		}
		if len(b.sections) > 1 {
			first = append(first, line{Layout: &print.Layout{Widths: []int{0}}, mark: " ", cells: []string{printable.Cell(s.resource.GroupResource())}, head: true})
		}
		if b.format.Headers {
			first = append(first, line{Layout: s.Layout, mark: " ", cells: b.titles(s), head: true})
		}
		parts = append(parts, part{s, first})
		total += len(first) + len(s.order)
	}
	b.reveal()
	from, to := b.view.within(total, b.page)
	b.first = 0
	for _, p := range parts {
		n := len(p.first) + len(p.order)
		b.first += max(0, min(from-len(p.first), len(p.order)))
		for i := max(0, from); i < min(n, to); i++ {
			if i < len(p.first) {
				lines = append(lines, p.first[i])
			} else {
				lines = append(lines, b.line(p.section, p.order[i-len(p.first)], now))
			}
		}
		from, to = from-n, to-n
	}
	return lines, total
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

// line returns the line of a row.
func (b *board) line(s *section, row *liveRow, now time.Time) line {
	b.current(s, row)
	row.drawn = b.frame
	l := line{Layout: s.Layout, mark: " ", at: row == b.at, cells: slices.Clone(row.cells), fresh: make([]bool, len(row.cells))}
	if row.age >= 0 && !row.created.IsZero() && !row.deleted() {
		l.cells[row.age] = print.Age(now.Sub(row.created))
	}
	s.Fit(l.cells)
	if recent := now.Sub(row.last.Time) < freshFor; row.deleted() {
		l.mark, l.gone = "-", true
	} else if recent && row.last.Type == string(watch.Added) && !row.initial {
		l.mark = "+"
	} else if recent && row.last.Type == string(watch.Modified) {
		l.mark = "~"
	}
	for i, at := range row.changed {
		l.fresh[i] = !at.IsZero() && now.Sub(at) < freshFor
	}
	return l
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
