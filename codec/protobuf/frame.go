package protobuf

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/protojson"
)

// Fields of the messages WatchEvent and RawExtension.
const (
	typeField   = 1
	objectField = 2
	rawField    = 1
)

// Frames splits the body of a WATCH in protobuf into frames, as codec.Frames does for
// JSON: each is four bytes of length and a message of that length. The Object of a
// frame is in its envelope. Limits and errors are the same.
func Frames[V any](r io.Reader, max int, decode func(codec.Frame) (V, error)) iter.Seq2[V, error] {
	if max <= 0 {
		max = codec.DefaultMaxFrame
	}
	return func(yield func(V, error) bool) {
		var zero V
		body := newReader(r, "frame")
		for {
			if _, err := body.peek(1); err == io.EOF {
				return
			}
			f, err := body.frame(max)
			if err != nil {
				yield(zero, err)
				return
			}
			if v, err := decode(f); !yield(v, err) {
				return
			}
		}
	}
}

// frame consumes one frame.
func (r *reader) frame(max int) (f codec.Frame, err error) {
	head, err := r.peek(4)
	if err != nil {
		return f, r.cut(err)
	}
	size := int64(binary.BigEndian.Uint32(head))
	switch {
	case head[0] >= ' ' && size > int64(max): // half a gigabyte, or text
		return f, r.syntax(fmt.Sprintf("a frame of %d bytes", size))
	case size > int64(max):
		return f, &codec.LimitError{What: "frame", Limit: max}
	}
	r.pos += 4
	b, err := r.take(int(size))
	if err != nil {
		return f, err
	}
	var raw []byte
	for w := protojson.Wire(b); len(w) > 0; {
		number, typ, err := w.Tag()
		var part []byte
		switch {
		case err != nil:
		case typ != protojson.Bytes:
			err = w.Skip(typ)
		default:
			part, err = w.Bytes()
		}
		switch {
		case err != nil:
			return f, r.syntax(err.Error())
		case number == typeField:
			f.Type = codec.EventType(part)
		case number == objectField:
			raw = part
		}
	}
	if f.Object, err = protojson.Part(raw, rawField); err != nil {
		return f, r.syntax(err.Error())
	}
	switch {
	case f.Type == "":
		return f, r.syntax("frame without a type")
	case len(f.Object) == 0:
		return f, r.syntax("frame without an object")
	}
	return f, nil
}
