package replay

import "slices"

// Redact returns a copy of b, a JSON value, in which the values that the Redaction names, and
// tokens, are overwritten at their length, as by a Writer. It does not change b.
func Redact(b []byte, rules Redaction) []byte {
	r := newRedactor(rules, false, false)
	out := make([]byte, 0, len(b))
	for piece := range slices.Chunk(b, 64<<10) { // of one, all could be held back
		ready := r.feed(piece)
		out = append(out, ready...)
		r.taken(len(ready))
	}
	return append(out, r.finish()...)
}
