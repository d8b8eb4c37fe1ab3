package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/sink"
)

// migrations lead from each version of the schema to the next; $s is its name. A release
// never changes those that an earlier release had.
var migrations = []string{`
	CREATE TABLE $s.schema_version (version integer NOT NULL);
	INSERT INTO $s.schema_version VALUES (0);
	CREATE TABLE $s.positions (
		cluster text NOT NULL, api_group text NOT NULL, resource text NOT NULL, shard integer NOT NULL,
		shards integer NOT NULL, version text NOT NULL, selection text NOT NULL,
		revision text NOT NULL, generation bigint NOT NULL, sequence bigint NOT NULL,
		epoch bigint NOT NULL, phase text NOT NULL, cause text NOT NULL, updated timestamptz NOT NULL,
		PRIMARY KEY (cluster, api_group, resource, shard));
	CREATE TABLE $s.objects (
		cluster text NOT NULL, api_group text NOT NULL, resource text NOT NULL,
		namespace text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, shard integer NOT NULL,
		uid text NOT NULL, revision text NOT NULL, epoch bigint NOT NULL,
		api_version text NOT NULL, kind text NOT NULL, labels jsonb, object jsonb, raw bytea,
		phase text NOT NULL, trimmed boolean NOT NULL, quarantined text NOT NULL, updated timestamptz NOT NULL,
		PRIMARY KEY (cluster, api_group, resource, namespace, name, shard));
	CREATE SEQUENCE $s.history_seq;
	CREATE TABLE $s.history (
		seq bigint NOT NULL DEFAULT nextval('$s.history_seq'), id text NOT NULL, type text NOT NULL,
		cluster text NOT NULL, api_group text NOT NULL, resource text NOT NULL, shard integer NOT NULL,
		namespace text NOT NULL, name text NOT NULL, uid text NOT NULL, revision text NOT NULL, epoch bigint NOT NULL,
		api_version text NOT NULL, kind text NOT NULL, time timestamptz NOT NULL, phase text NOT NULL,
		synthetic boolean NOT NULL, initial boolean NOT NULL, labels jsonb, object jsonb, raw bytea, trimmed boolean NOT NULL,
		from_revision text NOT NULL, to_revision text NOT NULL, reason text NOT NULL) PARTITION BY RANGE (time);
	CREATE INDEX history_object ON $s.history (resource, namespace, name, seq);
	CREATE INDEX history_id ON $s.history (id);
	CREATE TABLE $s.gaps (LIKE $s.history);
`, `
	ALTER TABLE $s.positions ADD COLUMN control text NOT NULL DEFAULT '';
`, `
	ALTER TABLE $s.positions ADD COLUMN receiver text NOT NULL DEFAULT '', -- of what is posted
		ADD COLUMN sent bigint NOT NULL DEFAULT 0; -- it has the records up to this seq
	CREATE INDEX history_scope ON $s.history (resource, shard, seq);
`}

// schemaLock is the advisory lock of migrations and of new partitions.
const schemaLock = 7_305_042_841

// migrate brings the schema up to date in one transaction.
func (s *Sink) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, s.schema).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			if _, err := tx.Exec(ctx, s.sql(`CREATE SCHEMA $s`)); err != nil {
				return err
			}
		}
		var table *string
		version := 0
		if err := tx.QueryRow(ctx, `SELECT to_regclass($1)::text`, s.sql("$s.schema_version")).Scan(&table); err != nil {
			return err
		}
		if table != nil {
			if err := tx.QueryRow(ctx, s.sql(`SELECT version FROM $s.schema_version`)).Scan(&version); err != nil {
				return err
			}
		}
		if version == len(migrations) {
			return nil
		}
		if version > len(migrations) {
			return fmt.Errorf("its schema has version %d, and this program knows up to %d: use a later release: %w", version, len(migrations), sink.ErrRefused)
		}
		for _, step := range migrations[version:] {
			if _, err := tx.Exec(ctx, s.sql(step)); err != nil {
				return fmt.Errorf("migrate from version %d: %w", version, err)
			}
			version++
		}
		_, err := tx.Exec(ctx, s.sql(`UPDATE $s.schema_version SET version = $1`), version)
		return err
	})
}

// sql names the schema in a statement.
func (s *Sink) sql(text string) string { return strings.ReplaceAll(text, "$s", s.quoted) }

// partition returns the name of the partition of a day.
func partition(day time.Time) string { return "history_" + day.Format("20060102") }

// provide makes the partitions for the days of records.
func (s *Sink) provide(ctx context.Context, records []sink.Record) error {
	for i := range records {
		day := records[i].Time.UTC().Truncate(24 * time.Hour)
		s.mu.Lock()
		done := s.days[day]
		s.mu.Unlock()
		if done {
			continue
		}
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
				return err
			}
			var exists bool
			if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, s.sql("$s."+partition(day))).Scan(&exists); err != nil || exists {
				return err
			}
			// PARTITION OF would wait for all who read the history, and keep others waiting.
			_, err := tx.Exec(ctx, s.sql(fmt.Sprintf(`CREATE TABLE $s.%[1]s (LIKE $s.history INCLUDING DEFAULTS);
				ALTER TABLE $s.history ATTACH PARTITION $s.%[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`,
				partition(day), day.Format(time.RFC3339), day.AddDate(0, 0, 1).Format(time.RFC3339))))
			return err
		})
		if err != nil {
			return fmt.Errorf("make the partition of %s: %w", day.Format(time.DateOnly), err)
		}
		s.mu.Lock()
		s.days[day] = true
		s.mu.Unlock()
	}
	return nil
}

// Prune drops the partitions of the history whose days ended before a time, at most limit
// of them, and returns how many. GAP records stay in the table gaps. It fails where a reader
// of the history keeps it waiting for a fifth of a second, for which commits wait too. If a record
// of a day was not posted yet, it resets the receiver of its scope, in the same transaction; see
// cloudevents.Companion.
func (s *Sink) Prune(ctx context.Context, before time.Time, limit int) (int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1) AND c.relname < $2 ORDER BY 1 LIMIT $3`,
		s.sql("$s.history"), partition(before.UTC()), limit)
	if err != nil {
		return 0, s.conceal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, s.conceal(err)
	}
	for i, name := range names {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			table := "$s." + pgx.Identifier{name}.Sanitize()
			_, err := tx.Exec(ctx, s.sql("SET LOCAL lock_timeout = '200ms'; "+strings.ReplaceAll(forget, "$p", table)+"; DROP TABLE "+table))
			return err
		})
		if err != nil {
			return int64(i), s.conceal(err)
		}
	}
	return int64(len(names)), nil
}
