package compressed

import (
	"sync"

	"github.com/klauspost/compress/s2"
)

// Compressor packs the objects of one collection. The zero value is ready. It is
// safe for concurrent use, and must not be copied.
//
// The dictionary is made of the first few objects, and once more of the first
// thousand. From then on the bytes that remain are compared with those of the
// thousand objects after it was made: where they are a quarter more, it is made
// anew, at most once in two thousand objects. One that is no better is the new
// normal.
type Compressor struct {
	mu      sync.Mutex
	current *dictionary // nil = none yet
	samples samples     // of the window under way
	window  tally       // objects that current has packed
	normal  float64     // remaining part of the first full window of current; 0 = not known
	stats   Stats
}

// Stats are counts of what a Compressor did since it was made.
type Stats struct {
	Objects      int   // packed, or left as they are
	BytesIn      int64 // their size before
	BytesOut     int64 // and after, as Raw.MemorySize says
	Dictionaries int   // made
}

// A tally counts objects.
type tally struct {
	objects int
	in, out int
}

func (t tally) remaining() float64 { return float64(t.out) / float64(t.in) }

const (
	first  = 16   // objects before the first dictionary
	window = 1024 // objects that are compared

	// drift is how much more may remain than normal.
	drift = 1.25

	// A dictionary reaches that far: larger objects are packed without.
	maxForDictionary = 64 << 10
)

// Compress returns r packed, in one allocation: or r itself where that would not
// make it smaller, or is done already. The error is always nil: it is there for
// cache.Options.Transform.
func (c *Compressor) Compress(r Raw) (Raw, error) {
	whole := r.whole()
	if whole.IsZero() {
		return r, nil
	}
	s := scratches.Get().(*scratch)
	defer s.release()

	var dict *dictionary
	var encoder *s2.Dict
	var from *origin
	usual := len(whole.JSON()) <= maxForDictionary
	if usual {
		if dict = c.dictionary(); dict != nil {
			encoder, from = dict.encoder, dict.origin
		}
	}
	out := s.pack(whole, encoder)
	if out != nil && len(out) < whole.MemorySize() {
		r = Raw{packed: string(out), from: from}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Objects++
	c.stats.BytesIn += int64(whole.MemorySize())
	c.stats.BytesOut += int64(r.MemorySize())
	if usual && dict == c.current { // else another goroutine has renewed it
		c.watch(s.rest, len(out))
	}
	return r, nil
}

func (c *Compressor) dictionary() *dictionary {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// watch takes note of an object that was packed to size bytes, and renews the
// dictionary if it is time to.
func (c *Compressor) watch(text []byte, size int) {
	c.samples.add(text)
	c.window.objects++
	c.window.in += len(text)
	c.window.out += size

	switch {
	case c.current == nil:
		if c.window.objects == first {
			c.renew()
		}
	case c.window.objects < window:
	case c.stats.Dictionaries == 1: // the first few objects were of one namespace
		c.renew()
	default:
		remaining := c.window.remaining()
		if c.normal == 0 {
			c.normal = remaining
		}
		if remaining > drift*c.normal {
			c.renew()
		}
		c.samples, c.window = samples{}, tally{}
	}
}

// renew makes a dictionary of the samples.
func (c *Compressor) renew() {
	if made := c.samples.dictionary(); made != nil {
		c.current = made
		c.stats.Dictionaries++
	}
	c.normal = 0
	c.samples, c.window = samples{}, tally{}
}

// Stats returns what c did so far.
func (c *Compressor) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
