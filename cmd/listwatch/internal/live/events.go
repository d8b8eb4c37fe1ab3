package live

import (
	"context"
	"errors"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// eventsOf returns the collection of the Events about the object of r.
func eventsOf(c *client.Client, r *record.Record) (client.Collection[codec.Raw], error) {
	fields, err := kube.ParseFieldSelector("involvedObject.kind=" + r.Resource.Kind + ",involvedObject.name=" + r.ID.Name)
	return client.Of[codec.Raw](c, kube.Events).In(r.ID.Namespace).Where(kube.Selector{}, fields), err
}

// eventsAgain is the time between two attempts to read Events.
const eventsAgain = 5 * time.Second

// followEvents reads Events once, at most maxEvents of them, and watches them from there
// until ctx is done.
func followEvents(ctx context.Context, col client.Collection[codec.Raw], send func(news)) {
	for {
		from, err := readEvents(ctx, col, send)
		if err == nil {
			watchEvents(ctx, col, from, send)
			return
		}
		if ctx.Err() == nil {
			send(news{problem: messages.Reason(err)})
		}
		if wait.For(ctx, eventsAgain) != nil {
			return
		}
	}
}

// readEvents sends one page of Events, and returns its revision.
func readEvents(ctx context.Context, col client.Collection[codec.Raw], send func(news)) (kube.Revision, error) {
	var meta codec.ListMeta
	n := news{events: map[kube.Key]happening{}}
	for o, err := range list.Page(ctx, col, &list.Cursor{}, list.Options{Limit: maxEvents, MaxItem: record.MaxItem}, codec.ParseRaw, &meta) {
		var bad *codec.ItemError
		switch {
		case err == nil:
			n.events[kube.KeyOf(o)] = happeningOf(o)
		case !errors.As(err, &bad):
			return "", err
		}
	}
	n.more = meta.Continue != ""
	send(n)
	return kube.Revision(meta.ResourceVersion), nil
}

// watchEvents sends the changes of Events.
func watchEvents(ctx context.Context, col client.Collection[codec.Raw], from kube.Revision, send func(news)) {
	for ev, err := range watch.New(col, watch.Options{Revision: from, MaxItem: record.MaxItem}).Events(ctx) {
		var stop *watch.Interruption
		switch {
		case errors.As(err, &stop) && stop.Err != nil && !errors.Is(stop.Err, kube.ErrGone):
			send(news{problem: messages.Reason(stop.Err)})
		case err != nil:
		case ev.Type == watch.Deleted:
			send(news{gone: []kube.Key{ev.Key}})
		case ev.Type == watch.Added, ev.Type == watch.Modified:
			send(news{events: map[kube.Key]happening{ev.Key: happeningOf(ev.Object)}})
		default:
			send(news{}) // it can be read again
		}
	}
}

// happeningOf returns what is shown of an Event.
func happeningOf(o codec.Raw) happening {
	var e struct {
		Metadata struct {
			Created string `json:"creationTimestamp"`
		} `json:"metadata"`
		Type    string `json:"type"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
		Count   int64  `json:"count"`
		Last    string `json:"lastTimestamp"`
		Time    string `json:"eventTime"`
		Series  struct {
			Count int64  `json:"count"`
			Last  string `json:"lastObservedTime"`
		} `json:"series"`
	}
	if err := o.Decode(&e); err != nil {
		return happening{reason: "Unreadable", message: printable.Line(err.Error())}
	}
	h := happening{kind: cell(e.Type), reason: cell(e.Reason), message: printable.Line(printable.Cut(e.Message, 4*maxCell)), count: max(e.Count, e.Series.Count)}
	for _, text := range []string{e.Series.Last, e.Last, e.Time, e.Metadata.Created} {
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			h.last = at
			break
		}
	}
	return h
}

// cell is a short text of an object.
func cell(s string) string { return printable.Cell(printable.Cut(s, 100)) }
