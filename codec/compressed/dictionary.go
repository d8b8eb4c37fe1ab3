package compressed

import (
	"slices"

	"github.com/klauspost/compress/s2"
)

// A dictionary is text that is likely to occur in objects. It exists twice, over the
// same bytes: the encoder has tables of 32 KB, and objects refer to the other one.
type dictionary struct {
	encoder *s2.Dict
	origin  *origin
}

// Samples are evenly spaced among the objects, for the next dictionary.
type samples struct {
	texts  [][]byte
	size   int // total bytes
	stride int // every stride-th object is taken; 0 = 1
	seen   int
}

const (
	// S2 supports 64 KB. With a little less, most offsets fit in two bytes.
	maxDictionary = 60 << 10

	// Only the beginning of a large object is taken, so that there is room for others.
	maxSample = maxDictionary / 4
)

// add adds every stride-th object.
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

// dictionary makes a dictionary from the samples; nil if they are too small.
func (s *samples) dictionary() *dictionary {
	const slack = 16 // required by S2, or it copies
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
