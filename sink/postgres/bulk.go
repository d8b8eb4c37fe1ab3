package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// fewest is the smallest batch that is written by one statement for each table.
const fewest = 20

// bulky reports whether records can be written by one statement for each table: no two
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

// entry has the columns of a record that differ in a batch, by their names in both tables.
type entry struct {
	N          int               `json:"n"`
	ID         string            `json:"id"`
	Type       sink.Type         `json:"type"`
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	UID        string            `json:"uid"`
	Revision   kube.Revision     `json:"revision"`
	APIVersion string            `json:"api_version"`
	Kind       string            `json:"kind"`
	Time       time.Time         `json:"time"`
	Synthetic  bool              `json:"synthetic"`
	Initial    bool              `json:"initial"`
	Labels     map[string]string `json:"labels,omitempty"`
	Object     json.RawMessage   `json:"object,omitempty"`
	Trimmed    bool              `json:"trimmed"`
}

// The batch is $1, and $2 to $7 are cluster, group, resource, shard, epoch and phase.
const (
	entries = ` FROM json_to_recordset($1::text::json) AS e(n int, id text, type text, namespace text, name text, uid text, revision text, api_version text, kind text,
		time timestamptz, synthetic bool, initial bool, labels jsonb, object jsonb, trimmed bool)`

	insertRecords = `INSERT INTO $s.history (` + recordColumns + `)
		SELECT id, type, $2, $3, $4, $5::int, namespace, name, uid, revision, $6::bigint, api_version, kind, time, $7, synthetic, initial, labels, object, trimmed, '', '', ''` +
		entries + ``
	upsertRows = `INSERT INTO $s.objects (` + rowColumns + `)
		SELECT $2, $3, $4, namespace, name, $5::int, uid, revision, $6::bigint, api_version, kind, labels, object, $7, trimmed, '', time` +
		entries + replaceRow
)

// bulk writes records for which bulky is true.
func (s *Sink) bulk(ctx context.Context, tx pgx.Tx, records []sink.Record, mode sink.Mode) error {
	all := make([]entry, len(records))
	for i := range records {
		r := &records[i]
		all[i] = entry{i, r.ID, r.Type, r.Namespace, r.Name, r.UID, r.Revision, r.APIVersion, r.Kind, r.Time, r.Synthetic, r.Initial, r.Labels, r.Object, r.Trimmed}
	}
	write := func(statement string, text []byte) error {
		r := &records[0]
		_, err := tx.Exec(ctx, s.sql(statement), string(text), r.Cluster, r.Group, r.Resource, r.Shard, r.Epoch, string(r.Phase))
		return err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode %d records: %w", len(all), err)
	}
	if mode != sink.ModeTable {
		if err := write(insertRecords, text); err != nil {
			return err
		}
	}
	if mode == sink.ModeHistory {
		for i := range all {
			all[i].Object = nil
		}
		if text, err = json.Marshal(all); err != nil {
			return fmt.Errorf("encode %d rows: %w", len(all), err)
		}
	}
	return write(upsertRows, text)
}
