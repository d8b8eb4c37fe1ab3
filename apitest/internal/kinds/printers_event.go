package kinds

import (
	"cmp"
	"strings"
)

// eventPrinter is that of events of both groups, which name the same things
// differently.
var eventPrinter = Printer{
	Columns: []ColumnDefinition{
		column("Last Seen", "time since it last happened"),
		column("Type", "Normal, or Warning"),
		column("Reason", "what happened, in a word"),
		column("Object", "what it happened to"),
		wideColumn("Subobject", "the part of it"),
		wideColumn("Source", "who tells it"),
		column("Message", "what happened"),
		wideColumn("First Seen", "time since it first happened"),
		wideColumn("Count", "how often it happened"),
		{Name: "Name", Type: "string", Format: "name", Description: "name of the event", Priority: 1},
	},
	Cells: eventCells,
}

func eventCells(r *Row) {
	var about struct{ Kind, Name, FieldPath string }
	var source struct{ Component, Host string }
	var series *struct {
		Count            int
		LastObservedTime string
	}
	count := 0
	either := func(one, other string, into any) {
		r.read(one, into)
		r.read(other, into)
	}
	word := func(one, other string) (s string) {
		either(one, other, &s)
		return s
	}
	either("involvedObject", "regarding", &about)
	either("source", "deprecatedSource", &source)
	either("count", "deprecatedCount", &count)
	r.read("series", &series)
	first := cmp.Or(word("firstTimestamp", "deprecatedFirstTimestamp"), word("eventTime", ""))
	last := cmp.Or(word("lastTimestamp", "deprecatedLastTimestamp"), first)
	if series != nil {
		last, count = series.LastObservedTime, series.Count
	} else {
		count = max(count, 1)
	}
	target := strings.ToLower(about.Kind)
	if about.Name != "" {
		target += "/" + about.Name
	}
	from := cmp.Or(source.Component, word("reportingComponent", "reportingController"))
	if host := cmp.Or(source.Host, word("reportingInstance", "")); host != "" {
		from += ", " + host
	}
	r.add(since(last), word("type", ""), word("reason", ""), target, about.FieldPath, from,
		strings.TrimSpace(word("message", "note")), since(first), count, r.Meta.Name)
}
