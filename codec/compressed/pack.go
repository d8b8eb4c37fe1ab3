package compressed

import (
	"encoding/binary"
	"errors"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/codec"
)

// A packed object is one string: the lengths of the parts of its identity; these parts;
// where they were cut out of the JSON; and the rest of the JSON, as a block of S2.
// Numbers are varints. So the identity, which differs between objects, is stored once
// and can be read without decompressing.

// The parts of an identity, in the order of the JSON of an API server.
const (
	name = iota
	namespace
	uid
	revision
	parts
)

func identity(r codec.Raw) [parts]string {
	return [parts]string{r.GetName(), r.GetNamespace(), r.GetUID(), r.GetResourceVersion()}
}

// packed is a parsed packed object.
type packed struct {
	ids   [parts]string
	cuts  [parts]int // bytes of JSON between the previous cut and this one, plus 1; 0 = not cut
	block string
}

const (
	// reach is the distance after the last cut in which the next part is searched.
	reach = 4096

	// maxJSON limits the JSON that is compressed; longer JSON is unchanged.
	maxJSON = 1<<28 - 1
)

// A scratch holds the buffers of packing and unpacking.
type scratch struct {
	rest  []byte // the JSON without the cuts
	block []byte
	out   []byte
	json  []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// release returns s to the pool, unless a large object has made it large.
func (s *scratch) release() {
	if cap(s.rest)+cap(s.block)+cap(s.out)+cap(s.json) <= 1<<20 {
		scratches.Put(s)
	}
}

// pack returns the packed r, a part of s; nil if r is too large.
func (s *scratch) pack(r codec.Raw, dict *s2.Dict) []byte {
	json := r.JSON()
	if len(json) > maxJSON {
		return nil
	}
	p := packed{ids: identity(r)}
	s.rest = p.cut(s.rest[:0], json)
	if size := s2.MaxEncodedLen(len(s.rest)); cap(s.block) < size {
		s.block = make([]byte, size)
	}
	if dict != nil {
		s.block = dict.Encode(s.block[:cap(s.block)], s.rest)
	} else {
		s.block = s2.Encode(s.block[:cap(s.block)], s.rest)
	}

	out := s.out[:0]
	for _, id := range p.ids {
		out = binary.AppendUvarint(out, uint64(len(id)))
	}
	for _, id := range p.ids {
		out = append(out, id...)
	}
	for _, cut := range p.cuts {
		out = binary.AppendUvarint(out, uint64(cut))
	}
	s.out = append(out, s.block...)
	return s.out
}

// cut appends to dst the JSON without the parts of the identity. A part may be cut at
// any place where its text occurs: join inserts it there again.
func (p *packed) cut(dst []byte, json string) []byte {
	for i, id := range p.ids {
		if len(id) < 4 {
			continue // shorter than a cut
		}
		if at := strings.Index(json[:min(len(json), reach)], id); at >= 0 {
			p.cuts[i] = at + 1
			dst = append(dst, json[:at]...)
			json = json[at+len(id):]
		}
	}
	return append(dst, json...)
}

// join reverses cut.
func (p *packed) join(dst, rest []byte) ([]byte, bool) {
	for i, id := range p.ids {
		if p.cuts[i] == 0 {
			continue
		}
		at := p.cuts[i] - 1
		if at > len(rest) {
			return nil, false
		}
		dst = append(dst, rest[:at]...)
		dst = append(dst, id...)
		rest = rest[at:]
	}
	return append(dst, rest...), true
}

// part returns one part of the identity of a packed object, and its end; -1 if the
// object is damaged.
func part(s string, which int) (id string, end int) {
	i, from, size := 0, 0, 0
	for part := range parts {
		n, ok := 0, false
		if n, i, ok = varint(s, i); !ok {
			return "", -1
		}
		if part < which {
			from += n
		} else if part == which {
			size = n
		}
	}
	if from += i; size > len(s)-from {
		return "", -1
	}
	return s[from : from+size], from + size
}

// parse parses a packed object; false if it is damaged.
func parse(s string) (p packed, ok bool) {
	end := 0
	for i := range p.ids {
		if p.ids[i], end = part(s, i); end < 0 {
			return packed{}, false
		}
	}
	for i := range p.cuts {
		if p.cuts[i], end, ok = varint(s, end); !ok {
			return packed{}, false
		}
	}
	p.block = s[end:]
	return p, true
}

// varint reads the number at i, of at most 28 bits, and returns its end.
func varint(s string, i int) (n, end int, ok bool) {
	for shift := 0; i < len(s) && shift < 28; shift += 7 {
		c := s[i]
		i++
		n |= int(c&0x7f) << shift
		if c < 0x80 {
			return n, i, true
		}
	}
	return 0, i, false
}

var errDamaged = errors.New("decompress: the object is damaged")

// unpack sets s.json to the JSON of a packed object.
func (s *scratch) unpack(from string, dict *s2.Dict) error {
	p, ok := parse(from)
	if !ok {
		return errDamaged
	}
	s.block = append(s.block[:0], p.block...)
	size, err := s2.DecodedLen(s.block)
	if err != nil || size > maxJSON {
		return errDamaged
	}
	if cap(s.rest) < size {
		s.rest = make([]byte, size)
	}
	var rest []byte
	if dict != nil {
		rest, err = dict.Decode(s.rest[:0], s.block)
	} else {
		rest, err = s2.Decode(s.rest[:cap(s.rest)], s.block)
	}
	if err != nil {
		return errDamaged
	}
	if s.json, ok = p.join(s.json[:0], rest); !ok {
		return errDamaged
	}
	return nil
}
