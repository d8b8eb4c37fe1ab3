package live

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
)

// place is a cluster as the header names it.
type place struct {
	name  string // as records have it; empty where there is one cluster
	first string // its context, or else its server
	more  string // its cluster entry; may be empty
}

// placesOf returns the places of clusters.
func placesOf(clusters []connect.Cluster) (places []place) {
	for _, c := range clusters {
		p := place{name: c.Name}
		if p.more = printable.Cell(c.Config.Cluster); p.more != "" {
			p.more = "cluster " + p.more
		}
		if p.first = "context " + printable.Cell(c.Config.Context); c.Config.Context == "" {
			p.first = p.more
			p.more = ""
		}
		if p.first == "" {
			p.first = "server " + hostOf(c.Config.Client.Server)
		}
		places = append(places, p)
	}
	return places
}

// hostOf returns the host of a URL, which may have a password, too.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return "of a URL that cannot be read"
	}
	return printable.Cell(u.Host)
}

// lostAfter is how long a connection may be away without being reported: servers end
// watches in routine.
const lostAfter = time.Second

// header returns at most so many lines, which say what is shown and how current it is, and
// whether something is not current.
func (b *board) header(now time.Time, width, most int) (lines []string, behind bool) {
	states := map[string]monitor.Freshness{}
	if b.fresh != nil {
		for _, f := range b.fresh() {
			states[f.Cluster] = f
		}
	}
	late := func(p place) bool {
		f := states[p.name]
		return f.Why != "" && (f.AsOf.IsZero() || now.Sub(f.AsOf) >= lostAfter)
	}
	places := slices.Clone(b.places)
	if behind = slices.ContainsFunc(places, late); most <= 0 || len(places) == 0 {
		return nil, behind
	}
	omitted := 0
	if len(places) > most { // those that are not current come first
		slices.SortStableFunc(places, func(x, y place) int { return cmp.Compare(order(late(x)), order(late(y))) })
		omitted = len(places) - most + 1
		places = places[:most-1]
	}
	for _, p := range places {
		text, color := p.describe(states[p.name], now, late(p)), ""
		if late(p) {
			color = red
		}
		for _, l := range wrapTo(text, width, max(1, most/len(b.places))) {
			lines = append(lines, b.shade(l, color))
		}
	}
	if omitted > 0 {
		lines = append(lines, clipTo("and "+printable.Count(omitted, "more cluster"), width))
	}
	return lines, behind
}

func order(first bool) int {
	if first {
		return 0
	}
	return 1
}

// describe returns the line of a place: which it is, how old its state is where that is not
// current, and what is selected.
func (p place) describe(f monitor.Freshness, now time.Time, late bool) string {
	parts := []string{p.first}
	switch {
	case !late:
	case f.AsOf.IsZero():
		parts = append(parts, "no complete state yet: "+printable.Cell(f.Why))
	default:
		parts = append(parts, fmt.Sprintf("as of %s ago: %s", print.Age(now.Sub(f.AsOf)), printable.Cell(f.Why)))
	}
	if p.more != "" {
		parts = append(parts, p.more)
	}
	switch n := len(f.Namespaces); {
	case f.All:
		parts = append(parts, "all namespaces")
	case n == 1:
		parts = append(parts, "namespace "+printable.Cell(f.Namespaces[0]))
	case n > 1:
		parts = append(parts, "namespaces "+printable.Cell(strings.Join(f.Namespaces, " ")))
	}
	return strings.Join(parts, ", ")
}

// shade colours s.
func (b *board) shade(s, color string) string {
	if !b.format.Color || color == "" || s == "" {
		return s
	}
	return color + s + plain
}
