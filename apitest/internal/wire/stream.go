package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/internal/protojson"
)

// TypeStream is the media type of a watch in protobuf.
const TypeStream = protojson.MediaType + ";stream=watch"

// Stream converts the events of a watch to protobuf frames. Faults change its JSON: an
// event that is no longer JSON becomes an invalid frame.
type Stream struct {
	Info    *object.Info
	pending []byte // of an event that is not complete yet
}

// Frames takes a piece of the JSON and returns the frames of the events that it
// completes.
func (s *Stream) Frames(piece []byte) (out []byte) {
	s.pending = append(s.pending, piece...)
	for {
		s.pending = bytes.TrimLeft(s.pending, "\r\n")
		dec := json.NewDecoder(bytes.NewReader(s.pending))
		var event json.RawMessage
		switch err := dec.Decode(&event); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if len(s.pending) == 0 {
				s.pending = nil // the client may read for long what it was part of
			}
			return out
		case err != nil:
			garbage, rest, _ := bytes.Cut(s.pending, []byte("\n"))
			out, s.pending = append(out, sized(garbage)...), rest
		default:
			out = append(out, s.frame(event)...)
			s.pending = s.pending[dec.InputOffset():]
		}
	}
}

// Complete reports whether all events have been converted.
func (s *Stream) Complete() bool { return len(s.pending) == 0 }

// frame returns the frame of an event.
func (s *Stream) frame(event []byte) []byte {
	var e struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if json.Unmarshal(event, &e) != nil {
		return sized(event)
	}
	if len(e.Object) == 0 || string(e.Object) == "null" {
		return protojson.Event(e.Type, nil)
	}
	return Frame(s.Info, e.Type, e.Object)
}

// Frame returns the frame of an event with an object of info in JSON.
func Frame(info *object.Info, typ string, o []byte) []byte {
	b, err := protojson.Encode(o, info.APIVersion(), info.Kind)
	if err != nil {
		b = protojson.Broken(o, info.APIVersion(), info.Kind)
	}
	return protojson.Event(typ, b)
}

// Cut returns the bytes to send for an event without its end.
func (s *Stream) Cut() []byte {
	if len(s.pending) == 0 {
		return nil
	}
	frame := sized(s.pending)
	return frame[:len(frame)-1]
}

// sized returns a frame.
func sized(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}
