package replay

import "slices"

// Redact returns a JSON value with what the rules say replaced by as many other bytes,
// as a Writer replaces it. It leaves b as it is.
func Redact(b []byte, rules Redaction) []byte {
	r := newRedactor(rules, false, false)
	out := slices.Clone(r.feed(b))
	r.taken(len(out))
	return append(out, r.finish()...)
}
