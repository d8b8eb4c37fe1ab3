package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// fewest is the smallest batch that is written by one statement.
const fewest = 20

// bulky reports whether records can be written by one statement: no two
// are of one object, each leaves a row, and all are of one epoch and phase.
func bulky(records []sink.Record) bool {
	if len(records) < fewest {
		return false
	}
	keys := make(map[kube.Key]bool, len(records))
	for i := range records {
		r := &records[i]
		if r.Type != sink.Added && r.Type != sink.Modified || keys[r.Key()] || r.Epoch != records[0].Epoch || r.Phase != records[0].Phase {
			return false
		}
		keys[r.Key()] = true
	}
	return true
}

// columns are the arrays of a batch: what differs between its records, by column.
type columns struct {
	id, typ, namespace, name, uid, revision, apiVersion, kind []string
	time                                                      []time.Time
	synthetic, initial, trimmed                               []bool
	labels, object                                            []*string // nil = NULL
}

func columnsOf(records []sink.Record) *columns {
	c := new(columns)
	for i := range records {
		r := &records[i]
		c.id, c.typ, c.namespace, c.name = append(c.id, r.ID), append(c.typ, string(r.Type)), append(c.namespace, r.Namespace), append(c.name, r.Name)
		c.uid, c.revision, c.apiVersion, c.kind = append(c.uid, r.UID), append(c.revision, string(r.Revision)), append(c.apiVersion, r.APIVersion), append(c.kind, r.Kind)
		c.time, c.synthetic, c.initial, c.trimmed = append(c.time, r.Time), append(c.synthetic, r.Synthetic), append(c.initial, r.Initial), append(c.trimmed, r.Trimmed)
		c.labels, c.object = append(c.labels, labelsText(r.Labels)), append(c.object, objectText(r.Object))
	}
	return c
}

// $1 to $6 are cluster, group, resource, shard, epoch and phase, the others the arrays of
// columns. The JSON of an object is read once for both tables.
const (
	entries = `WITH e AS MATERIALIZED (
		SELECT id, type, namespace, name, uid, revision, api_version, kind, time, synthetic, initial, trimmed, labels::jsonb, object::jsonb
		FROM unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::timestamptz[], $16::bool[], $17::bool[], $18::bool[], $19::text[], $20::text[])
		AS a(id, type, namespace, name, uid, revision, api_version, kind, time, synthetic, initial, trimmed, labels, object))`

	insertRecords = `, h AS (INSERT INTO $s.history (` + recordColumns + `)
		SELECT id, type, $1, $2, $3, $4::int, namespace, name, uid, revision, $5::bigint, api_version, kind, time, $6, synthetic, initial, labels, object, trimmed, '', '', '' FROM e)`
	upsertRows = ` INSERT INTO $s.objects (` + rowColumns + `)
		SELECT $1, $2, $3, namespace, name, $4::int, uid, revision, $5::bigint, api_version, kind, labels, object, $6, trimmed, '', time FROM e` + replaceRow
	upsertRowsOnly = ` INSERT INTO $s.objects (` + rowColumns + `)
		SELECT $1, $2, $3, namespace, name, $4::int, uid, revision, $5::bigint, api_version, kind, labels, NULL, $6, trimmed, '', time FROM e` + replaceRow
)

// bulk writes records for which bulky is true.
func (s *Sink) bulk(ctx context.Context, tx pgx.Tx, records []sink.Record, mode sink.Mode) error {
	statement := entries + insertRecords + upsertRows
	switch mode {
	case sink.ModeTable:
		statement = entries + upsertRows
	case sink.ModeHistory:
		statement = entries + insertRecords + upsertRowsOnly
	}
	r, c := &records[0], columnsOf(records)
	_, err := tx.Exec(ctx, s.sql(statement), r.Cluster, r.Group, r.Resource, r.Shard, r.Epoch, string(r.Phase),
		c.id, c.typ, c.namespace, c.name, c.uid, c.revision, c.apiVersion, c.kind, c.time, c.synthetic, c.initial, c.trimmed, c.labels, c.object)
	return err
}
