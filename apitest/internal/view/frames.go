package view

import (
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

const (
	largeBody = 16 << 10 // bytes of an object whose frames are shared
	maxFrames = 8 << 20  // bytes of the frames that are kept
)

// Frames shares the frames of large objects among watches: one whose client does not read
// holds the frame that it sends, and hundreds of them hold the same one. The zero value is
// ready, and safe for concurrent use.
type Frames struct {
	mu    sync.Mutex
	kept  []frame // oldest first
	bytes int
}

type frame struct {
	of    frameKey
	bytes []byte
}

// frameKey is all that a frame depends on.
type frameKey struct {
	info    *object.Info
	as      string
	version string
	drop    bool
	typ     string
	object  *object.Object
}

// Event is v.Event, whose result nobody may change.
func (f *Frames) Event(v *View, typ string, o *object.Object) []byte {
	if len(o.Body) < largeBody || v.as == "Table" {
		return v.Event(typ, o)
	}
	k := frameKey{v.Info, v.as, v.version, v.drop, typ, o}
	f.mu.Lock()
	defer f.mu.Unlock() // also while it is made: others wait for the same
	for _, old := range f.kept {
		if old.of == k {
			return old.bytes
		}
	}
	b := v.Event(typ, o)
	f.kept = append(f.kept, frame{k, b})
	f.bytes += len(b)
	n := 0
	for ; f.bytes > maxFrames && n < len(f.kept)-1; n++ {
		f.bytes -= len(f.kept[n].bytes)
	}
	if n > 0 {
		f.kept = append([]frame(nil), f.kept[n:]...)
	}
	return b
}
