// Package persist keeps the state of a store on disk: a snapshot, which is replaced as
// a whole, and a journal of the objects that have become new to a consumer since. It
// implements files, their format and their checksums. Package cache decides what is
// written and when, and uses what was read.
//
// Every length that is read is checked against a limit before memory is allocated, and
// no error text contains a part of an object.
package persist
