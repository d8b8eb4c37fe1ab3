// Package file is the sink that needs no database: a folder of files of one JSON record a
// line, for archives, object stores that are synchronised with a folder, and other programs.
//
//	db, err := file.Open("cluster.log", file.Options{})
//
// Each collection, or shard of one, has a folder CLUSTER/GROUP/RESOURCE/SHARD, in whose
// names bytes outside [A-Za-z0-9_-] are =XX and an empty group is "-". A file there, a
// segment, has the commits of the sequences in its name, and the revision that the last of
// them reached: 0000000000000007-0000000000000009.r4711.ndjson. Each commit is a line with
// the position, {"position":...}, and a line for each record.
//
// A commit is one segment that is written, synchronised and renamed: a segment is complete
// when it can be seen. Segments are merged into larger ones at times; where the sequences of
// one contain those of another, the other is a leftover to be ignored. What the table holds
// is found by replaying segments from the last snapshot on, in memory.
//
// One process at a time writes to a folder, which a lock ensures; any number may read. The
// file system must be a local one.
package file
