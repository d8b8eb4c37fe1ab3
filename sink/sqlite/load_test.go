package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/loading"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// BenchmarkLoad compares a Runner with database/sql, which inserts the same rows by
// prepared statements, as durably.
func BenchmarkLoad(b *testing.B) {
	open := func(b *testing.B) (s *sqlite.Sink, path string) {
		path = filepath.Join(b.TempDir(), "cluster.db")
		s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return s, path
	}
	loading.Benchmark(b, func(b *testing.B) (sink.Sink, func()) {
		s, _ := open(b)
		return s, func() { s.Close() }
	}, func(b *testing.B, batches [][]sink.Record) {
		s, path := open(b) // makes the tables
		s.Close()
		db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		for _, batch := range batches {
			if err := insertRows(b.Context(), db, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// insertRows is what a program would do that keeps no position.
func insertRows(ctx context.Context, db *sql.DB, batch []sink.Record) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	history, err := tx.PrepareContext(ctx, `INSERT INTO history (id, type, cluster, api_group, resource, shard, namespace, name, uid, revision, epoch, api_version, kind, time, phase, synthetic, initial, labels, object, trimmed, from_revision, to_revision, reason)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	defer history.Close()
	objects, err := tx.PrepareContext(ctx, `INSERT INTO objects (cluster, api_group, resource, namespace, name, shard, uid, revision, epoch, api_version, kind, labels, object, phase, trimmed, quarantined, updated) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}
	defer objects.Close()
	for _, r := range batch {
		labels, err := json.Marshal(r.Labels)
		if err != nil {
			return err
		}
		at := r.Time.Format(time.RFC3339Nano)
		if _, err := history.ExecContext(ctx, r.ID, string(r.Type), r.Cluster, r.Group, r.Resource, r.Shard, r.Namespace, r.Name, r.UID, string(r.Revision), r.Epoch, r.APIVersion, r.Kind, at,
			string(r.Phase), r.Synthetic, r.Initial, string(labels), string(r.Object), r.Trimmed, string(r.From), string(r.To), r.Reason); err != nil {
			return err
		}
		if _, err := objects.ExecContext(ctx, r.Cluster, r.Group, r.Resource, r.Namespace, r.Name, r.Shard, r.UID, string(r.Revision), r.Epoch, r.APIVersion, r.Kind,
			string(labels), string(r.Object), string(r.Phase), r.Trimmed, "", at); err != nil {
			return err
		}
	}
	return tx.Commit()
}
