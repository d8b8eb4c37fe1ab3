package kinds

import (
	"cmp"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// eventKinds are the kinds of Events, which two groups serve.
func eventKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
				"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
				"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
				"reason", "reportingComponent", "source", "type"}},
			Defaults: FillEvent,
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseEvent(r, o)
			},
			Zero:     `"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""`,
			Printer:  eventPrinter,
			Strategy: Strategy{Upserts: true, Plain: true, name: rules.SegmentName},
		},
		{
			Info: object.Info{Resource: Named("events.k8s.io", "events", "Event"), Core: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
				"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion", "regarding.resourceVersion",
				"regarding.fieldPath", "reason", "reportingController", "type"}},
			Zero:     `"eventTime":null,"regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null`,
			Printer:  eventPrinter,
			Strategy: Strategy{Upserts: true, Plain: true, name: rules.SegmentName},
		},
	}
}

// FillEvent fills in what the server sends of an event without a value.
func FillEvent(d *rules.Defaults, o map[string]any) {
	d.Object(o, "involvedObject")
	d.Object(o, "source")
	for _, name := range [...]string{"eventTime", "firstTimestamp", "lastTimestamp"} {
		d.Null(o, name)
	}
	d.Set(o, "reportingComponent", "")
	d.Set(o, "reportingInstance", "")
	d.Drop(o, "count", "message", "reason", "type", "action")
	d.Drop(rules.ObjectAt(o, "involvedObject"), "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
	d.Drop(rules.ObjectAt(o, "source"), "component", "host")
}

// refuseEvent refuses an Event elsewhere than what it is about. Those with an eventTime
// may be about what has no namespace.
func refuseEvent(r *rules.Refusals, o map[string]any) {
	about, ns := rules.TextAt(rules.ObjectAt(o, "involvedObject"), "namespace"), rules.TextAt(rules.ObjectAt(o, "metadata"), "namespace")
	wrong := about != ns && !(about == "" && ns == "default")
	if t := rules.TextAt(o, "eventTime"); t != "" {
		wrong = about == "" && ns != "default" && ns != "kube-system"
	}
	if wrong {
		r.Invalid("involvedObject.namespace", about, "does not match event.namespace")
	}
}

// eventPrinter is that of events of both groups, which name the same fields
// differently.
var eventPrinter = columns.Printer{
	Columns: []columns.Definition{
		columns.Text("Last Seen", "time since it last happened"),
		columns.Text("Type", "Normal, or Warning"),
		columns.Text("Reason", "what happened, in a word"),
		columns.Text("Object", "what it happened to"),
		columns.Wide("Subobject", "the part of it"),
		columns.Wide("Source", "reporting component"),
		columns.Text("Message", "what happened"),
		columns.Wide("First Seen", "time since it first happened"),
		columns.Wide("Count", "how often it happened"),
		{Name: "Name", Type: "string", Format: "name", Description: "name of the event", Priority: 1},
	},
	Cells: eventCells,
}

func eventCells(r *columns.Row) {
	var about struct{ Kind, Name, FieldPath string }
	var source struct{ Component, Host string }
	var series *struct {
		Count            int
		LastObservedTime string
	}
	count := 0
	either := func(one, other string, into any) {
		r.Read(one, into)
		r.Read(other, into)
	}
	word := func(one, other string) (s string) {
		either(one, other, &s)
		return s
	}
	either("involvedObject", "regarding", &about)
	either("source", "deprecatedSource", &source)
	either("count", "deprecatedCount", &count)
	r.Read("series", &series)
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
	r.Add(r.Since(last), word("type", ""), word("reason", ""), target, about.FieldPath, from,
		strings.TrimSpace(word("message", "note")), r.Since(first), count, r.Meta.Name)
}

// StoredPath returns the path in a stored Event or Job of a name in a field selector of
// events.k8s.io or Jobs; most are the same.
func StoredPath(path string) string {
	switch path {
	case "status.successful":
		return "status.succeeded"
	case "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
		"regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath":
		return "involvedObject" + path[len("regarding"):]
	case "reportingController":
		return "reportingComponent"
	}
	return path
}
