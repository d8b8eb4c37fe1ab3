package replay

import (
	"iter"
	"slices"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// NoteError is the Note of an entry whose Failure was delivered to the loop.
const NoteError = "error"

// The other values of Note.
const (
	noteConnected = "connected" // a watch was opened after Gap
	noteClosed    = "closed"    // a request ended; Failure was delivered to the loop only if it is an interruption
	noteFallback  = "fallback"  // lists replace streams
	noteFull      = "full"      // the recording has reached its size limit
)

// Stream records one loop over the events of a collection.
type Stream struct {
	w      *Writer
	id     int
	forced bool // every object is a Secret
}

// Stream begins the recording of a loop over the events of a collection.
func (w *Writer) Stream(t Target) *Stream {
	s := &Stream{w: w, id: w.nextID(), forced: t.Resource.Group == "" && t.Resource.Plural == kube.Secrets.Plural}
	w.add(&Entry{Kind: KindStream, At: w.now(), ID: s.id, Target: &t})
	w.drain(true)
	return s
}

// Trace returns t with hooks that also record pages, connections and ends of requests.
// Pass it in the watch.Options of the recorded watcher.
func (s *Stream) Trace(t watch.Trace) watch.Trace {
	note := func(e Entry) {
		e.Kind, e.ID, e.At = KindNote, s.id, s.w.now()
		s.w.add(&e)
	}
	outer := t
	t.Listed = func(p list.Progress) {
		remaining := p.Remaining
		s.w.add(&Entry{
			Kind: KindPage, At: s.w.now(), ID: s.id, Pages: p.Pages, Items: p.Items,
			Remaining: &remaining, Revision: string(p.Revision), Done: p.Done,
		})
		if outer.Listed != nil {
			outer.Listed(p)
		}
	}
	t.Connected = func(op watch.Op, from kube.Revision, gap time.Duration) {
		note(Entry{Note: noteConnected, Type: string(op), Revision: string(from), Gap: gap})
		if outer.Connected != nil {
			outer.Connected(op, from, gap)
		}
	}
	t.Interrupted = func(i watch.Interruption) {
		note(Entry{Note: noteClosed, Failure: failureOf(&i)})
		if outer.Interrupted != nil {
			outer.Interrupted(i)
		}
	}
	t.Fallback = func(why error) {
		note(Entry{Note: noteFallback, Failure: failureOf(why)})
		if outer.Fallback != nil {
			outer.Fallback(why)
		}
	}
	return t
}

// Recordable is an object that keeps its bytes: codec.RawFull, or codec.Raw to leave
// out managedFields.
type Recordable interface {
	kube.Object
	JSON() string
}

// Record returns events, and records them when the loop receives them. The loop gets them
// unredacted. The returned sequence can be ranged over as often as events can; each time continues
// the same stream. If recording fails, the loop continues: see [Writer.Err].
func Record[T Recordable](s *Stream, events iter.Seq2[watch.Event[T], error]) iter.Seq2[watch.Event[T], error] {
	return func(yield func(watch.Event[T], error) bool) {
		initial := false
		var last *Entry // an error that may be the last element
		for ev, err := range events {
			if last != nil {
				s.w.add(last)
				last = nil
			}
			e := s.entry(string(ev.Type), ev.Key, ev.UID, ev.Revision, ev.Object.JSON(), ev.Cause, err)
			if e.Kind == KindNote && e.Failure.Interruption == nil {
				last = e
			} else {
				s.w.add(e)
			}
			switch ev.Type {
			case watch.Restart:
				initial = true
			case watch.Synced:
				initial = false
			}
			s.w.drain(!initial) // initial objects are written in bulk
			if !yield(ev, err) {
				s.end(EndClient, last)
				return
			}
		}
		cause := EndEOF
		if last != nil {
			cause = EndError
			if slices.Contains(last.Failure.Is, "canceled") || slices.Contains(last.Failure.Is, "deadline") {
				cause = EndClient
			}
		}
		s.end(cause, last)
	}
}

func (s *Stream) entry(typ string, key kube.Key, uid string, rev kube.Revision, object string, cause, err error) *Entry {
	e := &Entry{Kind: KindEvent, At: s.w.now(), ID: s.id, Type: typ, Revision: string(rev), Failure: failureOf(cause)}
	switch {
	case typ == "":
		e = &Entry{Kind: KindNote, At: e.At, ID: s.id, Note: NoteError, Failure: failureOf(err)}
	case object != "":
		r := newRedactor(s.w.rules, s.forced, true)
		r.feed([]byte(object))
		e.Object = r.finish()
	default:
		e.Namespace, e.Name, e.UID = key.Namespace, key.Name, uid
		if err != nil {
			e.Failure = failureOf(err)
		}
	}
	return e
}

// end records the end of the loop, with the error that was its last element.
func (s *Stream) end(cause Cause, last *Entry) {
	e := &Entry{Kind: KindEnd, At: s.w.now(), ID: s.id, Cause: cause}
	if last != nil {
		e.Failure = last.Failure
	}
	s.w.add(e)
	s.w.drain(true)
}
