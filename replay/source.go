package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// ErrEnd is the last element of a Source's events: the end of the recording. If the
// recording was truncated, the last element wraps ErrEnd: use errors.Is.
var ErrEnd = errors.New("the recording ends here")

// Streams returns the recorded loops over events, in order.
func (r *Recording) Streams() []Target {
	var targets []Target
	for _, e := range r.Entries {
		if e.Kind == KindStream {
			targets = append(targets, *e.Target)
		}
	}
	return targets
}

// Source delivers the events of one recorded stream again, as a cache.Source.
type Source[T kube.Object] struct {
	target  Target
	start   time.Duration
	entries []*Entry
	cut     bool
	o       SourceOptions
}

// SourceOptions of a Source. The zero value plays the recording at its speed, and ends
// with it.
type SourceOptions struct {
	Pace Pace

	// Trace gets the calls that the watcher's own Trace got: pages, connections, ends
	// of requests, also those that were not delivered to the loop, such as a 410. They
	// are recorded if Stream.Trace was used.
	Trace watch.Trace

	// Hold keeps the sequence open at the end of the recording, like a watch without
	// changes, until its context ends.
	Hold bool
}

// NewSource returns the n-th stream of a recording, in the order of
// [Recording.Streams], from 0. T is the type that objects are decoded into;
// codec.RawFull returns the recorded bytes.
func NewSource[T kube.Object](r *Recording, n int, o SourceOptions) (*Source[T], error) {
	s := &Source[T]{o: o, cut: r.Truncated}
	id, found := 0, 0
	for _, e := range r.Entries {
		switch {
		case e.Kind == KindStream && found == n:
			id, s.target, s.start = e.ID, *e.Target, e.At
			found++
		case e.Kind == KindStream:
			found++
		case e.ID == id && id != 0 && (e.Kind == KindEvent || e.Kind == KindNote || e.Kind == KindPage):
			s.entries = append(s.entries, e)
		}
	}
	if id == 0 {
		return nil, fmt.Errorf("replay stream %d: the recording has %d streams of events", n, found)
	}
	return s, nil
}

// Target returns the collection of the stream.
func (s *Source[T]) Target() Target { return s.target }

// Events delivers the stream from its beginning: the events, and the errors that the
// loop received between them, as a *watch.Interruption, a *codec.ItemError or a
// *[RecordedError]. An object that does not fit T is a *codec.ItemError. The last
// element is [ErrEnd], an error that wraps it, or the cause of ctx.
func (s *Source[T]) Events(ctx context.Context) iter.Seq2[watch.Event[T], error] {
	return func(yield func(watch.Event[T], error) bool) {
		clock, decode := s.o.Pace.from(s.start), codec.DecoderOf[T]()
		for _, e := range s.entries {
			delivered := e.Kind == KindEvent || e.Note == NoteError
			if delivered || s.o.Pace.Step == nil { // the others are delivered with the entry that they follow
				if err := clock.wait(ctx, e.At); err != nil {
					yield(watch.Event[T]{}, err)
					return
				}
			}
			if !delivered {
				e.trace(s.o.Trace)
				continue
			}
			if !yield(eventOf(e, decode)) {
				return
			}
		}
		err := ErrEnd
		if s.o.Hold {
			<-ctx.Done()
			err = context.Cause(ctx)
		} else if s.cut {
			err = fmt.Errorf("%w: it was truncated", ErrEnd)
		}
		yield(watch.Event[T]{}, err)
	}
}

// trace calls the hooks for an entry that is not delivered to the loop.
func (e *Entry) trace(t watch.Trace) {
	switch {
	case e.Kind == KindPage && t.Listed != nil:
		p := list.Progress{Pages: e.Pages, Items: e.Items, Remaining: -1, Revision: kube.Revision(e.Revision), Done: e.Done}
		if e.Remaining != nil {
			p.Remaining = *e.Remaining
		}
		t.Listed(p)
	case e.Note == noteConnected && t.Connected != nil:
		t.Connected(watch.Op(e.Type), kube.Revision(e.Revision), e.Gap)
	case e.Note == noteClosed && t.Interrupted != nil:
		var i *watch.Interruption
		if errors.As(e.Failure.err(), &i) {
			t.Interrupted(*i)
		}
	case e.Note == noteFallback && t.Fallback != nil:
		t.Fallback(e.Failure.err())
	}
}

// eventOf returns the event of an entry, and its error.
func eventOf[T kube.Object](e *Entry, decode func([]byte) (T, error)) (watch.Event[T], error) {
	if e.Kind == KindNote {
		if e.Failure == nil {
			return watch.Event[T]{}, &RecordedError{Text: "the recording has no text of this error"}
		}
		return watch.Event[T]{}, e.Failure.err()
	}
	ev := watch.Event[T]{
		Type: watch.Type(e.Type), Revision: kube.Revision(e.Revision),
		Key: kube.Key{Namespace: e.Namespace, Name: e.Name}, UID: e.UID,
	}
	switch {
	case len(e.Object) > 0:
		id, _ := codec.Skim(e.Object) // it was checked when it was read
		ev.Key, ev.UID = kube.Key{Namespace: id.Namespace, Name: id.Name}, id.UID
		v, err := decode(e.Object)
		if err != nil {
			return ev, codec.Quarantine(e.Object, err)
		}
		ev.Object = v
	case ev.Type == watch.Restart:
		ev.Cause = e.Failure.err()
	case e.Failure != nil:
		return ev, e.Failure.err()
	}
	return ev, nil
}
