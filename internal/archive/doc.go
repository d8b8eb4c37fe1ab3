// Package archive keeps the states of objects in a folder, bounded in bytes and in time.
//
// A type has a chain of segments, each a file of records with checksums. A segment begins
// with all objects that exist, so that it is read without those before it, and the oldest
// can be removed. From then on each state is the difference to that before it. A file
// appears with all its objects, or not at all; after the process was killed its end is
// where the last write ended. After a power loss the states of the last seconds may be
// missing.
//
// One process writes, which a lock makes sure of; any number may read meanwhile. A file
// with a record that is not as it was written is set aside, and the time that it had is
// missing. Callers leave out what nobody may read from a disk, such as Secrets.
package archive
