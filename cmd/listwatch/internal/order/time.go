package order

import (
	"cmp"
	"slices"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// ByTime sorts the Events of a first list by the time at which each happened last, as
// kubectl events does: it holds their records until the list is complete, or until they
// take [maxHeld] bytes. A nil ByTime holds nothing. It is for one goroutine.
type ByTime struct {
	held  []timed
	bytes int
}

// maxHeld limits the bytes of the objects that wait.
const maxHeld = 64 << 20

// timed is a record and the time of its Event.
type timed struct {
	record.Record
	at time.Time
}

// Give gives r, behind what is held, or holds it.
func (b *ByTime) Give(r record.Record, give func(record.Record)) {
	switch {
	case b == nil:
	case r.Initial && r.Type == string(watch.Added):
		b.held = append(b.held, timed{r, happened(r.Object)})
		if b.bytes += r.Size(); b.bytes > maxHeld {
			b.Flush(give)
		}
		return
	case r.IsObject() || r.Type == string(watch.Synced):
		b.Flush(give)
	}
	give(r)
}

// Flush gives what is held, sorted.
func (b *ByTime) Flush(give func(record.Record)) {
	if b == nil {
		return
	}
	slices.SortStableFunc(b.held, func(x, y timed) int { return x.at.Compare(y.at) })
	for _, t := range b.held {
		give(t.Record)
	}
	b.held, b.bytes = nil, 0
}

// event has the times of an Event, of both groups.
type event struct {
	Metadata struct {
		Created string `json:"creationTimestamp"`
	} `json:"metadata"`
	Series struct {
		Last string `json:"lastObservedTime"`
	} `json:"series"`
	Last string `json:"lastTimestamp"`
	Old  string `json:"deprecatedLastTimestamp"`
	Time string `json:"eventTime"`
}

// happened returns when the Event o, or that of the row o, happened last.
func happened(o codec.Raw) time.Time {
	var e event
	if o.GetKind() == "Table" {
		var table struct {
			Rows []struct {
				Object event `json:"object"`
			} `json:"rows"`
		}
		if err := o.Decode(&table); err == nil && len(table.Rows) > 0 {
			e = table.Rows[0].Object
		}
	} else {
		_ = o.Decode(&e) // what cannot be read comes first
	}
	at, _ := time.Parse(time.RFC3339Nano, cmp.Or(e.Series.Last, e.Last, e.Old, e.Time, e.Metadata.Created))
	return at
}
