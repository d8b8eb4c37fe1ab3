// Package codec converts between bytes and values: it splits the body of a WATCH into
// frames and the body of a LIST into items, reads an object's identity without decoding
// it, and decodes and encodes values. No other package uses json-iterator.
//
// Frames and Items hold at most one frame or item, refuse larger ones than a limit
// before they allocate memory for them, and yield their own buffer: a frame is valid
// while it is decoded, an item until the next iteration. Decode and ParseRaw copy, so
// their results may be kept.
//
// Decode decodes into your own type; every JSON name must match exactly, letter case
// included. Raw keeps the bytes of an object, without metadata.managedFields, in one
// allocation. RawFull keeps managedFields too.
//
// The package does not depend on HTTP, resources or the meaning of events. Error texts
// contain offsets, field names and Go types, never a part of the payload.
package codec
