package codec

import "encoding/binary"

// RawForm is the version of the format of AppendBinary.
const RawForm = "raw 1"

// AppendBinary appends r in its in-memory format, for a file that has a checksum and
// names RawForm. Reading it is a copy, while JSON would be parsed.
func (r Raw) AppendBinary(b []byte) ([]byte, error) { return append(b, r.s...), nil }

// MarshalBinary returns the bytes of AppendBinary.
func (r Raw) MarshalBinary() ([]byte, error) { return []byte(r.s), nil }

// UnmarshalBinary decodes the bytes of AppendBinary. It detects offsets that are out of
// range, but does not check that the rest is a JSON object. The error is a
// *SyntaxError.
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
