// Package codec is the border between bytes and values: it cuts the body of a
// WATCH into frames and the body of a LIST into items, reads an object's
// identity without decoding it, and decodes and encodes values. It is the only
// place that knows json-iterator.
//
// Frames and Items never hold more than one frame or item, refuse what is
// larger than a limit before it takes the memory, and lend out their own
// buffer: a frame is valid while it is decoded, an item until the next iteration.
// Decode and ParseRaw copy, so their results may be kept.
//
// Decode fills your own type; every JSON name must match exactly, letter case
// included. Raw keeps an object as its bytes, without metadata.managedFields,
// at one allocation an object. RawFull keeps managedFields too.
//
// Nothing here knows HTTP, resources or what an event means. Error texts hold
// offsets, field names and Go types, never a part of the payload.
package codec
