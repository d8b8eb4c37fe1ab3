// Package postgres is the sink for PostgreSQL 13 or newer, by pgx.
//
//	db, err := postgres.Open(ctx, "postgres://user@host/db", postgres.Options{})
//
// The tables are in a schema of their own (listwatch): objects, what exists, as jsonb;
// history, what changed, partitioned by day, and in the order of seq within a resource and
// shard; gaps, which is never pruned; and positions. One commit is one transaction, in which
// the update of the position is the fence. history has no unique index over id, which could
// not span its partitions: the fence is what keeps an id from coming twice.
//
// The server ends a transaction whose client is silent for 10 seconds, so that a leader that
// froze in a commit keeps nobody out; a limit that the server has itself stays.
//
// An object that jsonb refuses, or whose labels it refuses, such as one with the character
// U+0000, is kept as bytes in the column raw, without labels, and the record and the row are
// QUARANTINED.
package postgres
