package live

import (
	"strings"

	"github.com/listwatch/listwatch/internal/print"
)

// line is a line of the body: cells, apart as in other tables.
type line struct {
	*print.Layout
	mark  string
	cells []string
	fresh []bool // cells to be highlighted
	gone  bool
	head  bool
	at    bool   // it is selected
	color string // of the whole line
}

const (
	faint  = "\x1b[2;9m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	cyan   = "\x1b[36m"
	invert = "\x1b[7m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// width returns the columns of l.
func (l *line) width() int {
	n := 0
	for i, s := range l.cells {
		n += print.DisplayWidth(s)
		if i < len(l.cells)-1 && i < len(l.Widths) {
			n += l.Space(i, s)
		}
	}
	return len(l.mark) + 1 + n
}

// paint lays the cells out from column left on, and cuts the line at the width of the
// screen. The mark stays.
func (l *line) paint(color bool, left, width int) string {
	if l.cells == nil {
		return ""
	}
	var out strings.Builder
	used := 0
	put := func(s, style string) {
		if left > 0 {
			s, left = dropTo(s, left)
		}
		s = clipTo(s, width-used)
		used += print.DisplayWidth(s)
		if color && style != "" && s != "" {
			s = style + s + plain
		}
		out.WriteString(s)
	}
	style := func(i int) string {
		switch {
		case l.at:
			return invert
		case l.color != "":
			return l.color
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
	hidden, cursor := left, " "
	if l.at {
		cursor = ">"
	}
	left = 0
	put(l.mark+cursor, style(-1))
	left = hidden
	for i, s := range l.cells {
		put(s, style(i))
		if i < len(l.cells)-1 && i < len(l.Widths) {
			put(strings.Repeat(" ", l.Space(i, s)), map[bool]string{true: invert}[l.at])
		}
	}
	return out.String()
}

// dropTo leaves out the first columns of s, and returns how many more are to be left out.
// Of a wide character that is cut in two a space remains.
func dropTo(s string, columns int) (rest string, more int) {
	for i, r := range s {
		w := print.RuneWidth(r)
		switch {
		case columns == 0 && w > 0:
			return s[i:], 0
		case w > columns:
			return " " + s[i+len(string(r)):], 0
		}
		columns -= w
	}
	return "", columns
}

// invert draws the status line.
func (b *board) invert(s string, width int) string {
	if !b.format.Color {
		return s
	}
	return invert + s + strings.Repeat(" ", width-print.DisplayWidth(s)) + plain
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

// wrapTo breaks s into at most so many lines, at spaces where there are some. It cuts the
// last line.
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
