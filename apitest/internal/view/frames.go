package view

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
)

const (
	largeBody = 16 << 10 // bytes of an object whose frames are shared and counted
	maxFrames = 32 << 20 // bytes of the frames, with their objects
)

// ErrBehind is why a watch ends whose client reads too slowly.
var ErrBehind = errors.New("the client reads too slowly")

// Frames shares the frames of large objects among watches, and limits their bytes: one
// whose client does not read holds the frame that it sends, and hundreds of them hold the
// same one. If those that are being sent, with their objects, have 32 MiB, others wait, and
// a watch whose client reads nothing for backlog.Patience meanwhile is ended. Frames that
// were sent are kept as long as there is room, for watches that send them later. The zero
// value is ready, and safe for concurrent use.
type Frames struct {
	making sync.Mutex // one frame is made at a time; locked before mu

	mu      sync.Mutex
	kept    []*shared // oldest first; without those of Tables
	bytes   int       // the sizes of kept, and of those of Tables that are being sent
	sending map[*Frame]struct{}
	freed   chan struct{} // nil = nobody waits; closed when there may be room
	armed   bool          // cut is going to be called
}

type shared struct {
	of    frameKey
	bytes []byte // guarded by making; nil = not made yet
	users int    // in sending
}

// size estimates the bytes of a frame and its object.
func (k frameKey) size() int { return 2 * len(k.object.Body) }

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

	of     *Frames // nil = not counted
	shared *shared
	moved  atomic.Int64 // when the client last read something, in ns since 1970
	end    func()
}

// Event returns the frame of an event, in protobuf if requested. If there is no room for it
// now, it returns a channel that is closed when there may be: the caller keeps nothing of o
// until then, and calls Event again. end ends the watch, also one that waits for its client:
// it is called at most once, until Done, and must not call Done itself. If it was called
// already, the error is ErrBehind.
func (f *Frames) Event(v *View, typ string, o *object.Object, binary bool, end func()) (frame *Frame, room <-chan struct{}, err error) {
	if len(o.Body) < largeBody {
		return &Frame{Bytes: v.frame(typ, o, binary)}, nil, nil
	}
	frame = &Frame{of: f, end: end}
	if room := f.add(frame, frameKey{v.Info, v.as, v.version, v.drop, binary, typ, o}); room != nil {
		return nil, room, nil
	}
	f.making.Lock()
	defer f.making.Unlock()
	if frame.ended() {
		return nil, nil, ErrBehind
	}
	if frame.shared.bytes == nil {
		frame.shared.bytes = v.frame(typ, o, binary)
	}
	frame.Bytes = frame.shared.bytes
	return frame, nil, nil
}

// add counts a frame, or returns what closes when there may be room for it.
func (f *Frames) add(frame *Frame, k frameKey) (room <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.find(k)
	if s == nil {
		if s = f.keep(k); s == nil {
			if f.freed == nil {
				f.freed = make(chan struct{})
			}
			f.arm()
			return f.freed
		}
	}
	if s.users++; f.sending == nil {
		f.sending = make(map[*Frame]struct{})
	}
	frame.shared = s
	frame.Moved()
	f.sending[frame] = struct{}{}
	return nil
}

// arm has cut called when it may have something to do. The caller holds the lock.
func (f *Frames) arm() {
	if f.armed {
		return
	}
	left := backlog.Patience
	for frame := range f.sending {
		left = min(left, backlog.Patience-frame.idle())
	}
	f.armed = true
	time.AfterFunc(left, f.cut)
}

// cut ends the watches whose clients read nothing, while others wait.
func (f *Frames) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	if f.freed == nil {
		return
	}
	for frame := range f.sending {
		if frame.idle() >= backlog.Patience {
			frame.drop()
			frame.end()
		}
	}
	if f.freed != nil {
		f.arm()
	}
}

// Moved notes that the client has read something.
func (s *Frame) Moved() { s.moved.Store(time.Now().UnixNano()) }

// idle returns for how long the client has read nothing.
func (s *Frame) idle() time.Duration { return time.Since(time.Unix(0, s.moved.Load())) }

// ended reports whether the watch of s was ended.
func (s *Frame) ended() bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	_, ok := s.of.sending[s]
	return !ok
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
	f := s.of
	if _, ok := f.sending[s]; !ok {
		return
	}
	delete(f.sending, s)
	if s.shared.users--; s.shared.users > 0 {
		return
	}
	if s.shared.of.as == "Table" {
		f.bytes -= s.shared.of.size()
	}
	if f.freed != nil {
		close(f.freed)
		f.freed = nil
	}
}

// find returns what is kept for the frames of k, nil if there is nothing. The caller holds
// the lock.
func (f *Frames) find(k frameKey) *shared {
	for _, s := range f.kept {
		if s.of == k {
			return s
		}
	}
	return nil
}

// keep returns what is kept from now on for all frames of k, in place of the oldest that
// nobody sends; nil if there is no room. Those of a Table are not shared: cells change with
// the time, and the first frame has the columns. The caller holds the lock.
func (f *Frames) keep(k frameKey) *shared {
	f.kept = slices.DeleteFunc(f.kept, func(s *shared) bool {
		out := s.users == 0 && f.bytes+k.size() > maxFrames
		if out {
			f.bytes -= s.of.size()
		}
		return out
	})
	if f.bytes > 0 && f.bytes+k.size() > maxFrames {
		return nil
	}
	s := &shared{of: k}
	if f.bytes += k.size(); k.as != "Table" {
		f.kept = append(f.kept, s)
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
