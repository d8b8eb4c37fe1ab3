package live

import (
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// pane is a window on lines: which of them and of their columns are on the screen.
type pane struct {
	top, left int
}

// within keeps the first line within total lines, and returns the lines that are seen.
func (p *pane) within(total, page int) (from, to int) {
	p.top = max(0, min(p.top, total-page))
	return p.top, min(p.top+page, total)
}

// pane returns that of what is shown.
func (b *board) pane() *pane {
	switch {
	case b.help:
		return &b.manual
	case b.detail != nil:
		return &b.detail.pane
	}
	return &b.view
}

// lines returns by how many lines a key moves down, and whether it does.
func (b *board) lines(key string) (n int, moves bool) {
	const far = 1 << 30
	switch key {
	case "down", "j":
		return 1, true
	case "up", "k":
		return -1, true
	case "pgdown", "space", "f", "ctrl+f":
		return b.page, true
	case "pgup", "b", "ctrl+b":
		return -b.page, true
	case "d", "ctrl+d":
		return b.page / 2, true
	case "u", "ctrl+u":
		return -b.page / 2, true
	case "home", "g":
		return -far, true
	case "end", "G":
		return far, true
	}
	return 0, false
}

// scroll moves what is seen, and in the table the selected row.
func (b *board) scroll(key string) {
	p := b.pane()
	switch key {
	case "right", "l":
		p.left = max(p.left, min(p.left+b.width/2, b.widest-b.width))
	case "left", "h":
		p.left = max(0, p.left-b.width/2)
	}
	n, moves := b.lines(key)
	switch {
	case !moves:
	case p != &b.view:
		p.top = max(0, p.top+n)
	case b.at != nil:
		b.choose(b.index + n)
	case n == 1, n == -1:
		b.choose(b.first)
	default:
		b.choose(b.first + n)
	}
}

// choose selects the row of a number, of those that are shown.
func (b *board) choose(i int) {
	b.index = max(0, min(i, b.shown()-1))
	i = b.index
	for _, s := range b.sections {
		if i < len(s.order) {
			b.at = s.order[i]
			return
		}
		i -= len(s.order)
	}
	b.at = nil // there are none
}

// find returns the number of the selected row, and its line in the table. Where it is not
// shown any more, the row in its place is selected.
func (b *board) find() (line int, selected bool) {
	for range 2 {
		if b.at == nil {
			return 0, false
		}
		line, index := 0, 0
		for _, s := range b.sections {
			line += b.heading(s)
			if i := slices.Index(s.order, b.at); i >= 0 {
				b.index = index + i
				return line + i, true
			}
			line, index = line+len(s.order), index+len(s.order)
		}
		b.choose(b.index)
	}
	return 0, false
}

// heading returns how many lines are before the rows of s.
func (b *board) heading(s *section) (n int) {
	if s != b.sections[0] {
		n++
	}
	if len(b.sections) > 1 {
		n++
	}
	if b.format.Headers {
		n++
	}
	return n
}

// reveal scrolls the table so that the selected row is seen, and with the first one what is
// above it.
func (b *board) reveal() {
	at, selected := b.find()
	if !selected {
		return
	}
	upper := at
	if b.index == 0 {
		upper = 0
	}
	b.view.top = max(min(b.view.top, upper), at-b.page+1)
}

// open shows the selected row, or else the first one that is seen.
func (b *board) open() {
	if b.at == nil {
		b.choose(b.first)
	}
	if b.at != nil {
		b.detail = &detail{row: b.at, events: map[kube.Key]happening{}}
	}
}

// back leaves what Enter, / or j have begun, one after the other.
func (b *board) back() {
	switch {
	case b.help:
		b.help = false
	case b.detail != nil:
		for _, c := range b.detail.row.changes {
			c.lines = nil
		}
		b.detail = nil
	case b.query.text != "":
		b.filter(query{})
	default:
		b.at = nil
	}
}
