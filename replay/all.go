package replay

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Delivery is an event or error that a loop received, or a mark.
type Delivery[T kube.Object] struct {
	Stream int // index in Recording.Streams; -1 = a mark
	Event  watch.Event[T]
	Err    error         // as from Source.Events
	At     time.Duration // since Header.TimeBase
	Mark   string        // text of Writer.Mark
}

// All delivers all streams of a recording, and its marks, in their order and at the
// pace of p; a Source delivers one stream. trace, if not nil, returns the hooks of a
// stream, as for SourceOptions.Trace. The sequence ends with the recording, or with
// ctx.
func All[T kube.Object](ctx context.Context, r *Recording, p Pace, trace func(stream int) watch.Trace) iter.Seq[Delivery[T]] {
	var entries []*Entry
	streams, hooks := map[int]int{}, []watch.Trace{}
	for _, e := range r.Entries {
		_, known := streams[e.ID]
		switch {
		case e.Kind == KindStream:
			streams[e.ID] = len(hooks)
			hooks = append(hooks, watch.Trace{})
			if trace != nil {
				hooks[len(hooks)-1] = trace(len(hooks) - 1)
			}
		case e.Kind == KindMark, known && (e.Kind == KindEvent || e.Kind == KindNote || e.Kind == KindPage):
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Compare(a.At, b.At) })
	return func(yield func(Delivery[T]) bool) {
		if len(entries) == 0 {
			return
		}
		clock, decode := p.from(entries[0].At), codec.DecoderOf[T]()
		for _, e := range entries {
			delivered := e.Kind == KindEvent || e.Note == NoteError
			if delivered || p.Step == nil { // the others are delivered with the entry that they follow
				if clock.wait(ctx, e.At) != nil {
					return
				}
			}
			d := Delivery[T]{Stream: -1, At: e.At, Mark: e.Label}
			switch {
			case delivered:
				d.Mark, d.Stream = "", streams[e.ID]
				d.Event, d.Err = eventOf(e, decode)
			case e.Kind != KindMark:
				e.trace(hooks[streams[e.ID]])
				continue
			}
			if !yield(d) {
				return
			}
		}
	}
}
