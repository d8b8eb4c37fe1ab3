package codec

import "encoding/binary"

// RawForm names the form of AppendBinary. It changes when that does.
const RawForm = "raw 1"

// AppendBinary appends r to b as it is in memory: for a file that has a checksum
// and a note of RawForm. Reading it costs a copy, where JSON would be parsed.
func (r Raw) AppendBinary(b []byte) ([]byte, error) { return append(b, r.s...), nil }

// MarshalBinary returns what AppendBinary appends.
func (r Raw) MarshalBinary() ([]byte, error) { return []byte(r.s), nil }

// UnmarshalBinary makes r what AppendBinary was called for. Of bytes that were
// changed since, it refuses those that would lead out of them; that the rest is
// still an object it takes on trust. The error is a *SyntaxError.
func (r *Raw) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*r = Raw{}
		return nil
	}
	wrong := &SyntaxError{Msg: "not the binary form of a Raw"}
	if len(b) < rawTrailer {
		return wrong
	}
	trailer := b[len(b)-rawTrailer:]
	at := func(i int) int { return int(binary.LittleEndian.Uint32(trailer[4*i:])) }
	end := len(b) - rawTrailer
	for i := range parts {
		if at(2*i) > at(2*i+1) || at(2*i+1) > end {
			return wrong
		}
	}
	if size := at(2 * parts); size < len("{}") || size > end || b[0] != '{' || b[size-1] != '}' {
		return wrong
	}
	*r = Raw{string(b)}
	return nil
}
