package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// detail shows one object: its Events, and its changes in this run.
type detail struct {
	pane
	row      *liveRow
	events   map[kube.Key]happening
	answered bool   // the Events were read
	more     bool   // there were more than are read
	problem  string // why they cannot be read; empty = they can
}

// happening is an Event.
type happening struct {
	kind, reason, message string
	count                 int64
	last                  time.Time
}

// maxEvents is how many Events of an object are kept: those that happened last.
const maxEvents = 200

// news is what is known about the Events of a detail.
type news struct {
	of      *detail
	events  map[kube.Key]happening // those that are new or have changed
	gone    []kube.Key
	more    bool
	problem string
}

// hear takes in news.
func (d *detail) hear(n news) {
	if d.problem = n.problem; n.problem != "" {
		return
	}
	d.answered = true
	d.more = d.more || n.more
	for k, e := range n.events {
		d.events[k] = e
	}
	for _, k := range n.gone {
		delete(d.events, k)
	}
	for len(d.events) > maxEvents {
		k := d.sorted()[len(d.events)-1]
		delete(d.events, k)
		d.more = true
	}
}

// sorted returns the keys of the Events, the latest first.
func (d *detail) sorted() []kube.Key {
	keys := make([]kube.Key, 0, len(d.events))
	for k := range d.events {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y kube.Key) int { return cmp.Or(d.events[y].last.Compare(d.events[x].last), x.Compare(y)) })
	return keys
}

// name names the object.
func (d *detail) name() string {
	r := &d.row.last
	name := printable.Cell(record.KubectlName(r.Resource, r.ID.Name) + target.In(r.ID.Namespace))
	if r.Cluster != "" {
		name += " of " + printable.Cell(r.Cluster)
	}
	return name
}

// list returns the lines that are seen of d, and how many there are: at least, while
// changes are not built, which come after those that are seen.
func (d *detail) list(b *board, now time.Time) (lines []line, total int) {
	l := &print.Layout{Widths: []int{0}}
	plainLine := func(text, color string) line { return line{Layout: l, mark: " ", cells: []string{text}, color: color} }
	lines = append(lines, line{Layout: l, mark: " ", cells: []string{"EVENTS"}, head: true})
	switch {
	case d.problem != "":
		lines = append(lines, plainLine("Events cannot be read: "+d.problem, red))
	case !d.answered:
		lines = append(lines, plainLine("reading", ""))
	case len(d.events) == 0:
		lines = append(lines, plainLine("none", ""))
	}
	for _, k := range d.sorted() {
		e := d.events[k]
		color := ""
		if e.kind == "Warning" {
			color = yellow
		}
		lines = append(lines, plainLine(e.line(now), color))
	}
	if d.more {
		lines = append(lines, plainLine(fmt.Sprintf("and others: at most %d are read", maxEvents), ""))
	}
	lines = append(lines, line{Layout: l}, line{Layout: l, mark: " ", cells: []string{"CHANGES IN THIS RUN"}, head: true})
	changes := d.row.changes
	if len(changes) == 0 {
		lines = append(lines, plainLine("none", ""))
	}
	later := 0
	for _, c := range slices.Backward(changes) {
		if len(lines) >= d.top+b.page && c.lines == nil {
			later++
			continue
		}
		for i, text := range c.describe(b.format) {
			lines = append(lines, plainLine(text, diffColor(i, text, c.Type)))
		}
	}
	if d.row.dropped > 0 {
		lines = append(lines, plainLine(printable.Count(d.row.dropped, "earlier change")+" dropped, for want of memory", ""))
	}
	total = len(lines) + later
	from, to := d.within(total, b.page)
	return lines[min(from, len(lines)):min(to, len(lines))], total
}

func diffColor(i int, text, kind string) string {
	switch {
	case i == 0:
		return print.EventColor(kind)
	case strings.HasPrefix(text, "+"):
		return green
	case strings.HasPrefix(text, "-"):
		return red
	case strings.HasPrefix(text, "@"):
		return cyan
	}
	return ""
}

// line returns the line of an Event.
func (e happening) line(now time.Time) string {
	last := "?"
	if !e.last.IsZero() {
		last = print.Age(now.Sub(e.last))
	}
	times := ""
	if e.count > 1 {
		times = fmt.Sprintf(" (%d times)", e.count)
	}
	return clipTo(fmt.Sprintf("%-6s %-8s %s%s: %s", last, e.kind, e.reason, times, e.message), maxCell)
}
