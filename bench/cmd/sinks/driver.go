package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/sink"
)

// driver returns the function that writes a batch into the tables of s by the driver alone.
func (j job) driver(ctx context.Context, s sink.Sink) (func([]sink.Record) error, error) {
	pos, _, err := s.Open(ctx, j.scope())
	if err != nil {
		return nil, err
	}
	pos.Sequence++ // a commit makes the partition of the day
	if err := s.Commit(ctx, []sink.Record{{ID: "x", Type: sink.Gap, Cluster: "c", Resource: "configmaps", Time: time.Now()}}, pos); err != nil {
		return nil, err
	}
	if j.Sink == "postgres" {
		conn, err := pgx.Connect(ctx, j.Postgres)
		return func(batch []sink.Record) error { return copyRows(ctx, conn, j.Schema, batch) }, err
	}
	if j.Sink != "sqlite" {
		return nil, fmt.Errorf("no driver for %s", j.Sink)
	}
	db, err := sql.Open("sqlite", filepath.Join(j.Dir, "cluster.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return func(batch []sink.Record) error { return insertRows(ctx, db, batch) }, nil
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

// copyRows is what a program would do that keeps no position.
func copyRows(ctx context.Context, conn *pgx.Conn, schema string, batch []sink.Record) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{schema, "history"}, strings.Split("id,type,cluster,api_group,resource,shard,namespace,name,uid,revision,epoch,api_version,kind,time,phase,synthetic,initial,labels,object,trimmed,from_revision,to_revision,reason", ","),
			pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
				r := batch[i]
				return []any{r.ID, string(r.Type), r.Cluster, r.Group, r.Resource, r.Shard, r.Namespace, r.Name, r.UID, string(r.Revision), r.Epoch, r.APIVersion, r.Kind, r.Time,
					string(r.Phase), r.Synthetic, r.Initial, r.Labels, r.Object, r.Trimmed, string(r.From), string(r.To), r.Reason}, nil
			}))
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{schema, "objects"}, strings.Split("cluster,api_group,resource,namespace,name,shard,uid,revision,epoch,api_version,kind,labels,object,phase,trimmed,quarantined,updated", ","),
			pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
				r := batch[i]
				return []any{r.Cluster, r.Group, r.Resource, r.Namespace, r.Name, r.Shard, r.UID, string(r.Revision), r.Epoch, r.APIVersion, r.Kind, r.Labels, r.Object, string(r.Phase), r.Trimmed, "", r.Time}, nil
			}))
		return err
	})
}
