package live

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// change is an event of an object in this run, with the state before.
type change struct {
	record.Record
	row   *liveRow
	lines []string // as -o diff prints it; nil = not built
}

// Changes are kept within these limits; the oldest are dropped.
const (
	maxHistory = 64 << 20 // bytes of the states of all objects
	maxChanges = 100      // of an object
	maxLines   = 2000     // of a change
)

// history has the changes of all objects, the oldest first.
type history struct {
	changes []*change
	empty   int // of them, those that were dropped
	bytes   int
	most    int
}

func (c *change) size() int { return 500 + len(c.Old.JSON()) + len(c.Object.JSON()) }

// add keeps a change of row.
func (h *history) add(row *liveRow, r *record.Record) {
	c := &change{Record: *r, row: row}
	h.changes = append(h.changes, c)
	h.bytes += c.size()
	row.changes = append(row.changes, c)
	if len(row.changes) > maxChanges {
		h.drop(row.changes[0])
	}
	for n := 0; h.bytes > h.most && n < len(h.changes)-1; n++ {
		h.drop(h.changes[n])
	}
	if h.empty > len(h.changes)/2 {
		h.changes = slices.DeleteFunc(h.changes, func(c *change) bool { return c.row == nil })
		h.empty = 0
	}
}

// drop forgets c, which is the oldest of its row, or was dropped before.
func (h *history) drop(c *change) {
	if c.row == nil {
		return
	}
	h.bytes -= c.size()
	c.row.changes = c.row.changes[1:]
	c.row.dropped++
	*c = change{}
	h.empty++
}

// describe builds the lines of c, as -o diff prints it.
func (c *change) describe(o *print.Format) []string {
	if c.lines != nil {
		return c.lines
	}
	f := *o
	f.Name, f.Custom, f.Color = "diff", nil, false
	text, err := f.Encoder().Encode(nil, &c.Record)
	if err != nil {
		text = []byte(c.Type + ": cannot be compared: " + printable.Line(err.Error()))
	}
	for l := range strings.Lines(string(text)) {
		if len(c.lines) == maxLines {
			c.lines = append(c.lines, "  and more lines, which are not shown")
			break
		}
		c.lines = append(c.lines, clipTo(printable.Cut(strings.TrimSuffix(l, "\n"), 4*maxCell), maxCell))
	}
	if len(c.lines) == 0 {
		c.lines = []string{c.Type}
	}
	c.lines[0] = c.Time.Format("15:04:05 ") + c.lines[0]
	return c.lines
}
