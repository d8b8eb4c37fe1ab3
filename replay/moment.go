package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Moment is what the recorded loops knew at a time.
type Moment struct {
	Streams []StreamState // in the order of Recording.Streams, those that had begun
	Last    time.Duration // of the last entry of the recording
}

// StreamState is what one recorded loop knew at a time. A list counts when it is
// complete; before the first one Synced is false, and nothing is known.
type StreamState struct {
	Target  Target
	Objects []StateObject // sorted by namespace and name
	Synced  bool

	// Gap is why the objects may have changed since Until; empty = they are the state at the time
	// that was asked for. Changes that a resumed watch delivers count from their delivery on.
	Gap   string
	Until time.Duration
}

// StateObject is the state of one object.
type StateObject struct {
	Key      kube.Key
	Revision kube.Revision
	JSON     []byte
}

// At reads the remaining entries, and returns what the recorded loops knew at a time
// since Header.TimeBase. The objects take no more than maxBytes: else the error is a
// codec.ErrTooLarge. Other errors are those of [Reader.Entries], and those of a recording
// that cannot be played into a server, as for [NewState].
func (r *Reader) At(at time.Duration, maxBytes int64) (*Moment, error) {
	m, streams, held := &Moment{}, map[int]*moving{}, int64(0)
	var order []*moving
	for e, err := range r.Entries() {
		if err != nil {
			return nil, err
		}
		m.Last = max(m.Last, e.At)
		if e.At > at {
			continue
		}
		if e.Kind == KindStream {
			if e.Target.Resource.Kind == "" {
				return nil, fmt.Errorf("replay %s: the recording has no kind for it", e.Target.Resource)
			}
			s := &moving{StreamState: StreamState{Target: *e.Target}, objects: map[kube.Key]step{},
				fold: fold{resource: e.Target.Resource, known: map[kube.Key]lastState{}}}
			streams[e.ID] = s
			order = append(order, s)
			continue
		}
		s := streams[e.ID]
		if s == nil {
			continue
		}
		before := s.held
		if err := s.take(e); err != nil {
			return nil, err
		}
		if held += s.held - before; held > maxBytes {
			return nil, fmt.Errorf("%w: the objects at this time take more than %d bytes", codec.ErrTooLarge, maxBytes)
		}
	}
	for _, s := range order {
		if at > m.Last {
			s.lost(m.Last, "the recording ends")
		}
		for _, key := range slices.SortedFunc(maps.Keys(s.objects), kube.Key.Compare) {
			s.Objects = append(s.Objects, StateObject{key, s.objects[key].rev, s.objects[key].object})
		}
		m.Streams = append(m.Streams, s.StreamState)
	}
	return m, nil
}

// moving is a StreamState while its entries are read.
type moving struct {
	StreamState
	fold
	objects map[kube.Key]step
	held    int64 // bytes of objects, and of those of a list that is not complete
}

func (s *moving) take(e *Entry) error {
	switch {
	case e.Kind == KindEvent:
		return s.event(e)
	case e.Kind == KindEnd:
		s.lost(e.At, "the recording of it ended")
	case e.Note == noteConnected && watch.Op(e.Type) == watch.OpWatch && !s.restart:
		s.Gap = ""
	case (e.Note == noteClosed || e.Note == NoteError) && e.Failure != nil && e.Failure.Interruption != nil:
		why := "the server closed the watch"
		if err := e.Failure.Interruption.Err; err != nil {
			why = err.Text
		}
		s.lost(e.At, why)
	case e.Note == NoteError:
		why := "the watch failed"
		if e.Failure != nil {
			why = e.Failure.Text
		}
		s.lost(e.At, why)
	}
	return nil
}

func (s *moving) event(e *Entry) error {
	if _, err := storable(s.resource, e); err != nil {
		return err
	}
	switch {
	case watch.Type(e.Type) == watch.Restart:
		for _, st := range s.listing {
			s.held -= int64(len(st.object))
		}
		why := "it was listed again"
		if e.Failure != nil {
			why = e.Failure.Text
		}
		s.lost(e.At, why)
	case watch.Type(e.Type) == watch.Synced:
		for _, st := range s.listing {
			s.held -= int64(len(st.object))
		}
		s.Synced, s.Gap = true, ""
	case !s.restart:
		s.Gap = ""
	}
	listed := len(s.listing)
	for _, st := range s.fold.take(e) {
		s.held += int64(len(st.object) - len(s.objects[st.key].object))
		if s.objects[st.key] = st; st.object == nil {
			delete(s.objects, st.key)
		}
	}
	if len(s.listing) > listed {
		s.held += int64(len(e.Object))
	}
	return nil
}

// lost notes that what comes after at is not known, unless that is known already.
func (s *moving) lost(at time.Duration, why string) {
	if s.Synced && s.Gap == "" {
		s.Gap, s.Until = cmp.Or(why, "the watch failed"), at
	}
}
