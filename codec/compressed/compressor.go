package compressed

import (
	"sync"

	"github.com/klauspost/compress/s2"
)

// Compressor compresses the objects of one collection. The zero value is ready to use.
// It is safe for concurrent use, and must not be copied.
//
// The dictionary is made of the first few objects, and again of the first thousand.
// From then on the compression of each thousand objects is compared with that of the
// first thousand with the dictionary: if a quarter more bytes remain, the dictionary is
// made again, at most once in two thousand objects. If the new one is not better, its
// result becomes the base of the comparison.
type Compressor struct {
	mu      sync.Mutex
	current *dictionary // nil = none
	samples samples     // of the current window
	window  tally       // objects compressed with current
	normal  float64     // remaining part of the first full window of current; 0 = unknown
	stats   Stats
}

// Stats counts the work of a Compressor.
type Stats struct {
	Objects      int   // compressed or left unchanged
	BytesIn      int64 // size before
	BytesOut     int64 // size after, according to Raw.MemorySize
	Dictionaries int   // dictionaries made
}

// A tally counts objects.
type tally struct {
	objects int
	in, out int
}

func (t tally) remaining() float64 { return float64(t.out) / float64(t.in) }

const (
	first  = 16   // objects before the first dictionary
	window = 1024 // objects in a comparison

	// drift is the factor by which more bytes may remain before the dictionary is made
	// again.
	drift = 1.25

	// maxForDictionary is the reach of a dictionary in bytes: larger objects are
	// compressed without one.
	maxForDictionary = 64 << 10
)

// Compress returns r compressed, in one allocation, or r itself if it is compressed
// already or would not become smaller. The error is always nil; it exists for
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
	if usual && dict == c.current { // else another goroutine has replaced it
		c.watch(s.rest, len(out))
	}
	return r, nil
}

func (c *Compressor) dictionary() *dictionary {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// watch counts an object that was compressed to size bytes, and renews the dictionary
// if necessary.
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
	case c.stats.Dictionaries == 1: // the first few objects are often of one namespace
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

// renew makes a dictionary from the samples.
func (c *Compressor) renew() {
	if made := c.samples.dictionary(); made != nil {
		c.current = made
		c.stats.Dictionaries++
	}
	c.normal = 0
	c.samples, c.window = samples{}, tally{}
}

// Stats returns the counts since c was made.
func (c *Compressor) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}
