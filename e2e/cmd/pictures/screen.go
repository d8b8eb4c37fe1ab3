package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// style is how characters look. The colours are those of a terminal, plus one; 0 is the
// default.
type style struct {
	fg, bg                        int
	bold, dim, underline, reverse bool
}

// span is text of one style.
type span struct {
	column int
	text   string
	style
}

// row is a line of a screen.
type row []span

func equal(a, b []row) bool {
	return slices.EqualFunc(a, b, func(x, y row) bool { return slices.Equal(x, y) })
}

// screen reads lines with sequences that set styles, as tmux captures them. A style goes
// on in the next line.
func screen(text string) []row {
	var rows []row
	var s style
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		var r row
		column := 0
		for i, part := range strings.Split(line, "\x1b[") {
			if i > 0 {
				codes, rest, _ := strings.Cut(part, "m")
				s.set(codes)
				part = rest
			}
			if part == "" {
				continue
			}
			r = append(r, span{column, part, s})
			column += len([]rune(part))
		}
		rows = append(rows, r.trimmed())
	}
	return rows
}

// trimmed returns r without blanks at its end, which nobody sees.
func (r row) trimmed() row {
	for len(r) > 0 {
		last := &r[len(r)-1]
		if last.bg != 0 || last.reverse {
			break
		}
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		r = r[:len(r)-1]
	}
	return r
}

// set applies the codes of one sequence.
func (s *style) set(codes string) {
	all := strings.Split(codes, ";")
	for i := 0; i < len(all); i++ {
		n, _ := strconv.Atoi(all[i]) // nothing is 0
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.reverse = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 24:
			s.underline = false
		case n == 27:
			s.reverse = false
		case n == 39:
			s.fg = 0
		case n == 49:
			s.bg = 0
		case n >= 30 && n < 38:
			s.fg = n - 29
		case n >= 40 && n < 48:
			s.bg = n - 39
		case n >= 90 && n < 98:
			s.fg = n - 81
		case n >= 100 && n < 108:
			s.bg = n - 91
		case (n == 38 || n == 48) && i+2 < len(all) && all[i+1] == "5":
			c, _ := strconv.Atoi(all[i+2])
			if n == 38 {
				s.fg = c%16 + 1
			} else {
				s.bg = c%16 + 1
			}
			i += 2
		}
	}
}

// ansi returns what screen reads.
func (r row) ansi() string {
	var b strings.Builder
	for _, part := range r {
		codes := []string{"0"}
		for _, on := range []struct {
			set  bool
			code string
		}{{part.bold, "1"}, {part.dim, "2"}, {part.underline, "4"}, {part.reverse, "7"}} {
			if on.set {
				codes = append(codes, on.code)
			}
		}
		if part.fg > 0 {
			codes = append(codes, color(part.fg, 30))
		}
		if part.bg > 0 {
			codes = append(codes, color(part.bg, 40))
		}
		if len(codes) > 1 || b.Len() > 0 {
			fmt.Fprintf(&b, "\x1b[%sm", strings.Join(codes, ";"))
		}
		b.WriteString(part.text)
	}
	if len(r) > 0 && r[len(r)-1].style != (style{}) {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

func color(c, base int) string {
	if c > 8 {
		return strconv.Itoa(base + 60 + c - 9)
	}
	return strconv.Itoa(base + c - 1)
}
