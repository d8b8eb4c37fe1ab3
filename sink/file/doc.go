// Package file is a sink that needs no database: it writes files with one JSON record a line
// into a folder, for archives, object stores that are synchronised with a folder, and other
// programs.
//
//	db, err := file.Open("cluster.log", file.Options{})
//
// Each collection, or shard of one, has a folder CLUSTER/GROUP/RESOURCE/SHARD, in whose
// names bytes outside [A-Za-z0-9_-] are =XX and an empty group is "-". A file there, a
// segment, has the commits of the sequences in its name, and the revision that the last of
// them reached: 0000000000000007-0000000000000009.r4711.ndjson. Each commit is a line with
// the position, {"position":...}, and a line for each record. A file whose first sequence is 0
// is a snapshot of the table, which is not part of the history.
//
// A commit is one segment, which is written, synchronised and renamed, so that a visible
// segment is complete. Segments are sometimes merged into larger ones. If the sequences of one
// segment contain those of another, ignore the other. The table is read by replaying the
// segments since the last snapshot in memory.
//
// One process at a time writes to a folder, which a lock ensures; any number may read. The
// file system must be a local one.
package file
