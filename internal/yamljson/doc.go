// Package yamljson reads YAML that comes from outside, within limits, and converts it
// to the values of JSON.
//
// A YAML parser alone bounds neither what a short text becomes in memory nor what its
// aliases expand to. A [Decoder] therefore counts the tokens of a document before it
// parses it, and measures what the aliases expand to before anything expands them.
// [Limits] says how much is allowed; the zero value is for files that people write.
//
// Who parses with another YAML library uses [Limits.Scan] before, and [Limits.Fits]
// after.
//
// Errors are of type *[Error]. They name the line and the fault, and quote nothing.
package yamljson
