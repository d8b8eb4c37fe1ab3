// Package wire is the form in which sinks without columns keep records and positions:
// JSON, and the parts of subjects and keys.
package wire
