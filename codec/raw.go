package codec

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// Raw is an object of any kind. It keeps the JSON without metadata.managedFields and
// decodes on demand. It is one string and one allocation, immutable, and may be copied,
// compared and shared between goroutines. The zero value is no object.
//
// The getters return parts of that allocation: use strings.Clone for strings that must
// not keep the object in memory.
type Raw struct {
	// The JSON, then decoded identity strings that have escapes in it, then the start
	// and end of every part of the identity, then the length of the JSON.
	s string
}

// RawFull is a Raw with metadata.managedFields.
type RawFull struct{ Raw }

const rawTrailer = (2*parts + 1) * 4

// ParseRaw copies an object's bytes. They must be one JSON object, and the parts of its
// identity strings; errors are a *SyntaxError, *DecodeError or *LimitError. White space
// between tokens is removed, so the JSON is one line. Invalid UTF-8 becomes U+FFFD, but
// is an error in more than 1 MiB. The removed parts are checked too: an object with
// invalid managedFields is refused.
func ParseRaw(b []byte) (Raw, error) { return parseRaw(b, false) }

// ParseRawFull is ParseRaw, but keeps metadata.managedFields.
func ParseRawFull(b []byte) (RawFull, error) {
	r, err := parseRaw(b, true)
	return RawFull{r}, err
}

func parseRaw(b []byte, full bool) (Raw, error) {
	b, err := objectUTF8(b)
	if err != nil {
		return Raw{}, err
	}
	var o outline
	if err := o.read(b); err != nil {
		return Raw{}, err
	}
	if o.spaced {
		var tight bytes.Buffer
		if err := json.Compact(&tight, b); err != nil {
			return Raw{}, &SyntaxError{Msg: "not compactable"}
		}
		b = tight.Bytes()
		o = outline{}
		if err := o.read(b); err != nil {
			return Raw{}, err
		}
	}
	if len(b) > math.MaxInt32 {
		return Raw{}, &LimitError{What: "object", Limit: math.MaxInt32}
	}
	if full {
		o.cut, o.moreCuts = span{}, nil
	}
	return o.raw(b), nil
}

// raw builds the Raw of b, whose outline is o.
func (o *outline) raw(b []byte) Raw {
	cuts := append([]span(nil), o.moreCuts...)
	if len(cuts) > 0 {
		cuts = append(cuts, o.cut)
		slices.SortFunc(cuts, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	}
	size := len(b) - o.cut.len()
	for _, c := range o.moreCuts {
		size -= c.len()
	}
	total := size + rawTrailer
	for _, id := range o.ids {
		if id.escaped {
			total += id.len()
		}
	}

	var out strings.Builder
	out.Grow(total)
	if len(cuts) == 0 {
		out.Write(b[:o.cut.lo])
		out.Write(b[o.cut.hi:])
	} else {
		from := 0
		for _, c := range cuts {
			out.Write(b[from:c.lo])
			from = c.hi
		}
		out.Write(b[from:])
	}

	var trailer [rawTrailer]byte
	put := func(i, v int) { binary.LittleEndian.PutUint32(trailer[4*i:], uint32(v)) }
	for i, id := range o.ids {
		lo := id.lo
		switch {
		case id.escaped:
			lo = out.Len()
			var few [64]byte
			out.Write(unescape(few[:0], id.of(b)))
			put(2*i, lo)
			put(2*i+1, out.Len())
			continue
		case len(cuts) > 0:
			for _, c := range cuts {
				if c.hi <= id.lo {
					lo -= c.len()
				}
			}
		case o.cut.hi <= id.lo:
			lo -= o.cut.len()
		}
		put(2*i, lo)
		put(2*i+1, lo+id.len())
	}
	put(2*parts, size)
	out.Write(trailer[:])
	return Raw{out.String()}
}

// at returns the i-th number of the trailer.
func (r Raw) at(i int) int {
	t := r.s[len(r.s)-rawTrailer+4*i:]
	return int(t[0]) | int(t[1])<<8 | int(t[2])<<16 | int(t[3])<<24
}

func (r Raw) part(i int) string {
	if r.s == "" {
		return ""
	}
	return r.s[r.at(2*i):r.at(2*i+1)]
}

// IsZero reports whether r is no object.
func (r Raw) IsZero() bool { return r.s == "" }

// GetAPIVersion returns apiVersion.
func (r Raw) GetAPIVersion() string { return r.part(apiVersion) }

// GetKind returns kind.
func (r Raw) GetKind() string { return r.part(kind) }

// GetNamespace returns metadata.namespace.
func (r Raw) GetNamespace() string { return r.part(namespace) }

// GetName returns metadata.name.
func (r Raw) GetName() string { return r.part(name) }

// GetUID returns metadata.uid.
func (r Raw) GetUID() string { return r.part(uid) }

// GetResourceVersion returns metadata.resourceVersion.
func (r Raw) GetResourceVersion() string { return r.part(resourceVersion) }

// Identity returns all parts of the identity.
func (r Raw) Identity() Identity {
	return Identity{
		APIVersion:      r.GetAPIVersion(),
		Kind:            r.GetKind(),
		Namespace:       r.GetNamespace(),
		Name:            r.GetName(),
		UID:             r.GetUID(),
		ResourceVersion: r.GetResourceVersion(),
	}
}

// JSON returns the object on one line, "" for no object. It does not allocate.
func (r Raw) JSON() string {
	if r.s == "" {
		return ""
	}
	return r.s[:r.at(2*parts)]
}

// MemorySize returns the memory of r in bytes.
func (r Raw) MemorySize() int { return len(r.s) }

// Decode decodes the object into a fresh value and assigns it to the one that into points
// to; on an error, that value is unchanged. The result shares no memory with r. The rules
// are those of Decode. It panics if into is nil or not a pointer.
func (r Raw) Decode(into any) error { return decodeInto([]byte(r.JSON()), into) }

// MarshalJSON returns a copy of the JSON, null for no object.
func (r Raw) MarshalJSON() ([]byte, error) {
	if r.s == "" {
		return []byte("null"), nil
	}
	return []byte(r.JSON()), nil
}

// UnmarshalJSON is ParseRaw; null changes nothing.
func (r *Raw) UnmarshalJSON(b []byte) error { return r.unmarshal(b, false) }

// UnmarshalJSON is ParseRawFull; null changes nothing.
func (r *RawFull) UnmarshalJSON(b []byte) error { return r.unmarshal(b, true) }

func (r *Raw) unmarshal(b []byte, full bool) error {
	if string(b) == "null" {
		return nil
	}
	got, err := parseRaw(b, full)
	if err == nil {
		*r = got
	}
	return err
}
