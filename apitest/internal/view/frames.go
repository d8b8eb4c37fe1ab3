package view

import (
	"container/list"
	"errors"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
)

const (
	largeBody  = 16 << 10 // bytes of an object whose frames are shared and counted
	maxKept    = 16 << 20 // bytes of the frames that are kept, with their objects
	maxSending = 32 << 20 // bytes of the frames that are being sent, with their objects
)

// ErrBehind is why a watch ends whose client reads too slowly.
var ErrBehind = errors.New("the client reads too slowly")

// Frames shares the frames of large objects among watches, and limits their bytes: one
// whose client does not read holds the frame that it sends, and hundreds of them hold the
// same one. If those that are being sent, with their objects, have more than 32 MiB, the
// watches that have sent theirs for the longest time are ended. The zero value is ready,
// and safe for concurrent use.
type Frames struct {
	making sync.Mutex // one frame is made at a time; locked before mu

	mu      sync.Mutex
	kept    []*shared // oldest first
	bytes   int       // the sizes of kept
	sending list.List // of *Frame, oldest first
	held    int       // the sizes of sending, each shared one once
}

type shared struct {
	of    frameKey
	bytes []byte // guarded by making; nil = not made yet
	users int    // in sending
}

// size estimates the bytes of a frame and its object.
func (s *shared) size() int { return 2 * len(s.of.object.Body) }

// frameKey is all that a frame depends on.
type frameKey struct {
	info    *object.Info
	as      string
	version string
	drop    bool
	binary  bool
	typ     string
	object  *object.Object
}

// Frame is an event of a watch that is being sent. The caller calls Done afterwards, and
// does not change Bytes.
type Frame struct {
	Bytes []byte

	of     *Frames
	shared *shared
	place  *list.Element // nil = not counted, or not any more
	end    func()
}

// Event returns the frame of an event, in protobuf if requested. end ends the watch, also
// one that waits for its client: it is called at most once, until Done, and must not call
// Done itself. If it was called already, the result is ErrBehind.
func (f *Frames) Event(v *View, typ string, o *object.Object, binary bool, end func()) (*Frame, error) {
	if len(o.Body) < largeBody {
		return &Frame{Bytes: v.frame(typ, o, binary)}, nil
	}
	frame := &Frame{of: f, shared: f.share(frameKey{v.Info, v.as, v.version, v.drop, binary, typ, o}), end: end}
	f.add(frame)
	f.making.Lock()
	defer f.making.Unlock()
	if frame.ended() {
		return nil, ErrBehind
	}
	if frame.shared.bytes == nil {
		frame.shared.bytes = v.frame(typ, o, binary)
	}
	frame.Bytes = frame.shared.bytes
	return frame, nil
}

// add counts a frame, and ends the oldest ones if there are too many.
func (f *Frames) add(frame *Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frame.place = f.sending.PushBack(frame)
	if frame.shared.users++; frame.shared.users == 1 {
		f.held += frame.shared.size()
	}
	for oldest := f.sending.Front(); f.held > maxSending && oldest != frame.place; oldest = f.sending.Front() {
		late := oldest.Value.(*Frame)
		late.drop()
		late.end()
	}
}

// ended reports whether the watch of s was ended.
func (s *Frame) ended() bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.place == nil
}

// Done notes that the frame was sent, or cannot be.
func (s *Frame) Done() {
	if s.of == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.drop()
}

// drop removes s from those that are counted. The caller holds the lock.
func (s *Frame) drop() {
	if s.place == nil {
		return
	}
	s.of.sending.Remove(s.place)
	s.place = nil
	if s.shared.users--; s.shared.users == 0 {
		s.of.held -= s.shared.size()
	}
}

// share returns what is kept from now on for all frames of k. Those of a Table are not
// shared: cells change with the time, and the first frame has the columns.
func (f *Frames) share(k frameKey) *shared {
	s := &shared{of: k}
	if k.as == "Table" {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, old := range f.kept {
		if old.of == k {
			return old
		}
	}
	f.kept = append(f.kept, s)
	f.bytes += s.size()
	n := 0
	for ; f.bytes > maxKept && n < len(f.kept)-1; n++ {
		f.bytes -= f.kept[n].size()
	}
	if n > 0 {
		f.kept = append([]*shared(nil), f.kept[n:]...)
	}
	return s
}

// frame returns an event in JSON, with its newline, or in protobuf.
func (v *View) frame(typ string, o *object.Object, binary bool) []byte {
	if binary {
		return wire.Frame(v.Info, typ, v.Object(o))
	}
	return v.Event(typ, o)
}
