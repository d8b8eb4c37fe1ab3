package apitest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/internal/protojson"
)

// typeStream is the media type of a watch in protobuf.
const typeStream = protojson.MediaType + ";stream=watch"

// servesBinary reports whether r is served in protobuf with these parameters of an
// Accept header: built-in kinds, and the metadata of any.
func servesBinary(r *object.Info, verb string, params map[string]string) bool {
	if verb != "list" && verb != "watch" && verb != "get" {
		return false // JSON will do for the answer of a write
	}
	switch params["as"] {
	case "":
		return r.BuiltIn && protojson.Lookup(r.APIVersion(), r.Kind) != nil
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return params["v"] == "v1"
	}
	return false
}

// send answers with body, which is JSON, in the form that v has agreed upon.
func (v *view) send(w http.ResponseWriter, body []byte) {
	if v.binary {
		if b, err := protojson.Encode(body, v.info.APIVersion(), v.info.Kind); err == nil {
			writeJSON(w, http.StatusOK, protojson.MediaType, b)
			return
		}
	}
	writeJSON(w, http.StatusOK, "application/json", body)
}

// binaryStream makes frames in protobuf of the events of a watch. Faults work on its
// JSON: what they leave of an event that is no JSON becomes a frame that is no event.
type binaryStream struct {
	info    *object.Info
	pending []byte // of an event that has no end yet
}

// frames takes a piece of the JSON and returns the frames of the events that it ends.
func (s *binaryStream) frames(piece []byte) (out []byte) {
	s.pending = append(s.pending, piece...)
	for {
		s.pending = bytes.TrimLeft(s.pending, "\r\n")
		dec := json.NewDecoder(bytes.NewReader(s.pending))
		var event json.RawMessage
		switch err := dec.Decode(&event); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
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

// frame returns the frame of an event.
func (s *binaryStream) frame(event []byte) []byte {
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
	b, err := protojson.Encode(e.Object, s.info.APIVersion(), s.info.Kind)
	if err != nil {
		b = protojson.Broken(e.Object, s.info.APIVersion(), s.info.Kind)
	}
	return protojson.Event(e.Type, b)
}

// cut returns what is sent of an event whose end does not come.
func (s *binaryStream) cut() []byte {
	if len(s.pending) == 0 {
		return nil
	}
	frame := sized(s.pending)
	return frame[:len(frame)-1]
}

// cutBinary sends what was written of an event in protobuf without its end.
func (x *Exchange) cutBinary() {
	if x.binary == nil {
		return
	}
	if b := x.binary.cut(); b != nil {
		x.write(b) // an error means that the client has gone
		x.Flush()
	}
}

// sized returns a frame.
func sized(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}
