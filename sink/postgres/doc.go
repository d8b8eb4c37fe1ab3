// Package postgres is the sink for PostgreSQL 13 or newer, by pgx.
//
//	db, err := postgres.Open(ctx, "postgres://user@host/db", postgres.Options{})
//
// The tables are in the schema listwatch: objects, with the current objects as jsonb; history,
// with their changes, partitioned by day, in the order of seq within a resource and shard;
// gaps, which is never pruned; and positions. One commit is one transaction, in which the
// update of the position is the fence. history has no unique index over id, because it could
// not span the partitions: only the fence prevents duplicate ids.
//
// The server ends a transaction whose client is silent for 10 seconds, so that a leader that
// froze in a commit does not block others; a limit that the server sets itself has precedence.
//
// An object that jsonb refuses, or whose labels it refuses, such as one with the character
// U+0000, is kept as bytes in the column raw, without labels, and the record and the row are
// QUARANTINED. So is one that jsonb would write as a text of more than 224 MiB, because it writes
// the 309 digits of 1e+308.
package postgres
