package view

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
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
// same one. If those that are being sent, with their objects, have 32 MiB, another one
// waits, and a watch that has been sending its frame for longer than backlog.Patience is
// ended. The zero value is ready, and safe for concurrent use.
type Frames struct {
	making sync.Mutex // one frame is made at a time; locked before mu

	mu      sync.Mutex
	kept    []*shared     // oldest first
	bytes   int           // the sizes of kept
	sending list.List     // of *Frame, oldest first
	held    int           // the sizes of sending, each shared one once
	freed   chan struct{} // nil, or closed when held decreases
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
	since  time.Time     // when it was added
	place  *list.Element // nil = not counted, or not any more
	end    func()
}

// Event returns the frame of an event, in protobuf if requested, as soon as there is room
// for it. end ends the watch, also one that waits for its client: it is called at most
// once, until Done, and must not call Done itself. If it was called already, the error is
// ErrBehind; if ctx is done, its cause.
func (f *Frames) Event(ctx context.Context, v *View, typ string, o *object.Object, binary bool, end func()) (*Frame, error) {
	if len(o.Body) < largeBody {
		return &Frame{Bytes: v.frame(typ, o, binary)}, nil
	}
	frame := &Frame{of: f, end: end}
	if err := f.add(ctx, frame, frameKey{v.Info, v.as, v.version, v.drop, binary, typ, o}); err != nil {
		return nil, err
	}
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

// add counts a frame as soon as there is room, and ends those that are sent for too long.
func (f *Frames) add(ctx context.Context, frame *Frame, k frameKey) error {
	for {
		freed, left := f.tryAdd(frame, k)
		if freed == nil {
			return nil
		}
		timer := time.NewTimer(left)
		select {
		case <-freed:
		case <-timer.C:
		case <-ctx.Done():
		}
		if timer.Stop(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// tryAdd counts a frame if there is room. Otherwise it returns a channel that is closed
// when there is some, and how long the oldest frame may still take.
func (f *Frames) tryAdd(frame *Frame, k frameKey) (freed <-chan struct{}, left time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.held >= maxSending && !f.isSending(k) {
		late := f.sending.Front().Value.(*Frame)
		if left := backlog.Patience - time.Since(late.since); left > 0 {
			if f.freed == nil {
				f.freed = make(chan struct{})
			}
			return f.freed, left
		}
		late.drop()
		late.end()
	}
	frame.shared, frame.since, frame.place = f.share(k), time.Now(), f.sending.PushBack(frame)
	if frame.shared.users++; frame.shared.users == 1 {
		f.held += frame.shared.size()
	}
	return nil, 0
}

// isSending reports whether the frame of k is counted already. The caller holds the lock.
func (f *Frames) isSending(k frameKey) bool {
	return slices.ContainsFunc(f.kept, func(s *shared) bool { return s.users > 0 && s.of == k })
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
		if s.of.freed != nil {
			close(s.of.freed)
			s.of.freed = nil
		}
	}
}

// share returns what is kept from now on for all frames of k. Those of a Table are not
// shared: cells change with the time, and the first frame has the columns. The caller holds
// the lock.
func (f *Frames) share(k frameKey) *shared {
	s := &shared{of: k}
	if k.as == "Table" {
		return s
	}
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
