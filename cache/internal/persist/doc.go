// Package persist keeps the state of a store on disk: a snapshot, which is replaced as
// a whole, and a journal of what was new to a consumer since. It knows files, their
// format and their checksums. Package cache decides what is written and when, and what
// becomes of what was read.
//
// Every length that is read is checked against a limit before it takes memory, and no
// error text holds a part of an object.
package persist
