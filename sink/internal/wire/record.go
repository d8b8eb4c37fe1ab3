package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/listwatch/listwatch/sink"
)

// EncodeRecord returns r as JSON of at most limit bytes. A state that has no such form is
// quarantined; a deletion loses its object. The record returned is what was encoded.
func EncodeRecord(r sink.Record, limit int) (sink.Record, []byte, error) {
	b, err := encode(&r)
	if err == nil && len(b) <= limit {
		return r, b, nil
	}
	reason := fmt.Sprintf("has %d bytes as a record, above the limit of %d of the sink", len(b), limit)
	if err != nil {
		reason = "is not JSON"
	}
	r.Object, r.Labels = nil, nil
	switch r.Type {
	case sink.Deleted, sink.Left, sink.Gap:
		r.Trimmed = true
	default:
		r.Type, r.Reason = sink.Quarantined, reason
	}
	if b, err = encode(&r); err == nil && len(b) > limit {
		err = fmt.Errorf("record %s of %s %s has %d bytes without its object, above the limit of %d", r.ID, r.Type, r.Key(), len(b), limit)
	}
	return r, b, err
}

func encode(r *sink.Record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeRecord reads what EncodeRecord wrote.
func DecodeRecord(b []byte) (r sink.Record, err error) {
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read a stored record: %w", err)
	}
	return r, nil
}
