package compressed

import (
	"slices"

	"github.com/klauspost/compress/s2"
)

// A dictionary is text that objects are likely to have parts of. There are two
// of it, over the same bytes: the one that encodes has tables of 32 KB, and
// objects refer to the other.
type dictionary struct {
	encoder *s2.Dict
	origin  *origin
}

// Samples are evenly spaced among the objects seen, for the next dictionary.
type samples struct {
	texts  [][]byte
	size   int // bytes of all
	stride int // one of so many is taken; 0 = 1
	seen   int
}

const (
	// S2 takes 64 KB. A little less keeps most offsets within two bytes.
	maxDictionary = 60 << 10

	// Of a large object its beginning is taken, so that there is room for others.
	maxSample = maxDictionary / 4
)

// add takes the next object, if it is its turn.
func (s *samples) add(text []byte) {
	turn := s.seen%max(s.stride, 1) == 0
	s.seen++
	if !turn {
		return
	}
	text = slices.Clone(text[:min(len(text), maxSample)])
	s.texts = append(s.texts, text)
	s.size += len(text)
	for s.size > maxDictionary { // keep every other one
		s.stride = 2 * max(s.stride, 1)
		kept := s.texts[:0]
		for i, text := range s.texts {
			if i%2 == 0 {
				kept = append(kept, text)
			} else {
				s.size -= len(text)
			}
		}
		clear(s.texts[len(kept):])
		s.texts = kept
	}
}

// dictionary makes one of the samples; nil if they are too small for one.
func (s *samples) dictionary() *dictionary {
	const slack = 16 // as S2 wants it, or it copies
	text := make([]byte, 0, s.size+slack)
	for _, t := range s.texts {
		text = append(text, t...)
	}
	encoder := s2.MakeDict(text, nil)
	if encoder == nil {
		return nil
	}
	return &dictionary{encoder: encoder, origin: &origin{dict: s2.MakeDict(text, nil)}}
}
