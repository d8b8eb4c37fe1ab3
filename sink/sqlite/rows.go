package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

const (
	positionColumns = `cluster, api_group, resource, shard, shards, version, selection, revision, generation, sequence, epoch, phase, cause, updated, control`
	ofScope         = `cluster=? AND api_group=? AND resource=? AND shard=?`
	recordColumns   = `id, type, cluster, api_group, resource, shard, namespace, name, uid, revision, epoch, api_version, kind, time, phase, synthetic, initial, labels, object, trimmed, from_revision, to_revision, reason`
	rowColumns      = `cluster, api_group, resource, namespace, name, shard, uid, revision, epoch, api_version, kind, labels, object, phase, trimmed, quarantined, updated`
)

func of(s sink.Scope) []any {
	return []any{s.Cluster, s.Resource.Group, s.Resource.Plural, s.Shard}
}

// stampLayout has a fixed width, so that texts are ordered as times are.
const stampLayout = "2006-01-02T15:04:05.000000Z"

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// writer writes the records of one commit.
type writer struct {
	mode                    sink.Mode
	history, upsert, remove *sql.Stmt
}

func newWriter(ctx context.Context, tx *sql.Tx, mode sink.Mode) (*writer, error) {
	w := &writer{mode: mode}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		// An equal id is the same state, which is already there.
		{&w.history, `INSERT INTO history (` + recordColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`},
		{&w.upsert, `INSERT OR REPLACE INTO objects (` + rowColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&w.remove, `DELETE FROM objects WHERE cluster=? AND api_group=? AND resource=? AND namespace=? AND name=? AND uid=?`},
	} {
		var err error
		if *s.stmt, err = tx.PrepareContext(ctx, s.text); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *writer) close() {
	for _, s := range []*sql.Stmt{w.history, w.upsert, w.remove} {
		if s != nil {
			s.Close()
		}
	}
}

func (w *writer) record(ctx context.Context, r *sink.Record) error {
	if w.mode != sink.ModeTable || r.Type == sink.Gap || r.Type == sink.Quarantined {
		_, err := w.history.ExecContext(ctx, r.ID, string(r.Type), r.Cluster, r.Group, r.Resource, r.Shard, r.Namespace, r.Name, r.UID,
			string(r.Revision), r.Epoch, r.APIVersion, r.Kind, stamp(r.Time), string(r.Phase), r.Synthetic, r.Initial,
			labelsText(r.Labels), objectText(r.Object), r.Trimmed, string(r.From), string(r.To), r.Reason)
		if err != nil {
			return err
		}
	}
	switch r.Type {
	case sink.Gap:
		return nil
	case sink.Deleted, sink.Left:
		_, err := w.remove.ExecContext(ctx, r.Cluster, r.Group, r.Resource, r.Namespace, r.Name, r.UID)
		return err
	}
	row := sink.RowOf(r)
	if w.mode == sink.ModeHistory {
		row.Object = nil
	}
	_, err := w.upsert.ExecContext(ctx, r.Cluster, row.Group, row.Resource, row.Namespace, row.Name, r.Shard, row.UID, string(row.Revision), row.Epoch,
		row.APIVersion, r.Kind, labelsText(row.Labels), objectText(row.Object), string(r.Phase), row.Trimmed, row.Quarantined, stamp(r.Time))
	return err
}

// labelsText returns labels as JSON, NULL for none.
func labelsText(m map[string]string) any {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return string(b)
}

func objectText(b json.RawMessage) any {
	if len(b) == 0 {
		return nil
	}
	return string(b)
}

type scanner interface{ Scan(...any) error }

func position(row scanner) (p sink.Position, err error) {
	var shards int
	var selection, updated, revision, phase, control string
	s := &p.Scope
	err = row.Scan(&s.Cluster, &s.Resource.Group, &s.Resource.Plural, &s.Shard, &shards, &s.Resource.Version, &selection,
		&revision, &p.Generation, &p.Sequence, &p.Epoch, &phase, &p.Cause, &updated, &control)
	if err != nil {
		return p, err
	}
	s.Shards, p.Revision, p.Phase, p.Control = shards, kube.Revision(revision), sink.Phase(phase), sink.Control(control)
	if p.Time, err = time.Parse(stampLayout, updated); err != nil {
		return p, err
	}
	return p, s.Select(selection)
}

// Positions returns the positions of all scopes; see sink.Reader.
func (s *Sink) Positions(ctx context.Context) ([]sink.Position, error) {
	var all []sink.Position
	for p, err := range query(ctx, s.read, position, `SELECT `+positionColumns+` FROM positions ORDER BY 1, 2, 3, 4`) {
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Rows iterates the table of a resource; see sink.Reader.
func (s *Sink) Rows(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Row, error] {
	return query(ctx, s.read, scanRow, `SELECT api_group, resource, namespace, name, uid, revision, epoch, api_version, labels, object, trimmed, quarantined
		FROM objects WHERE cluster=? AND api_group=? AND resource=? ORDER BY namespace, name`, cluster, r.Group, r.Plural)
}

func scanRow(row scanner) (r sink.Row, err error) {
	var revision string
	var labels, object sql.NullString
	err = row.Scan(&r.Group, &r.Resource, &r.Namespace, &r.Name, &r.UID, &revision, &r.Epoch, &r.APIVersion, &labels, &object, &r.Trimmed, &r.Quarantined)
	if err != nil {
		return r, err
	}
	r.Revision = kube.Revision(revision)
	r.Labels, r.Object, err = fromText(labels, object)
	return r, err
}

func fromText(labels, object sql.NullString) (m map[string]string, o json.RawMessage, err error) {
	if labels.Valid {
		if err = json.Unmarshal([]byte(labels.String), &m); err != nil {
			return nil, nil, err
		}
	}
	if object.Valid {
		o = json.RawMessage(object.String)
	}
	return m, o, nil
}

// Records iterates the history of a resource; see sink.Reader.
func (s *Sink) Records(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Record, error] {
	return query(ctx, s.read, scanRecord, `SELECT `+recordColumns+` FROM history WHERE cluster=? AND api_group=? AND resource=? ORDER BY seq`, cluster, r.Group, r.Plural)
}

// Gaps returns the GAP records of a resource; see sink.Reader.
func (s *Sink) Gaps(ctx context.Context, cluster string, r kube.Resource) ([]sink.Record, error) {
	var all []sink.Record
	for rec, err := range query(ctx, s.read, scanRecord, `SELECT `+recordColumns+` FROM history WHERE type = 'GAP' AND cluster=? AND api_group=? AND resource=? ORDER BY seq`, cluster, r.Group, r.Plural) {
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

func scanRecord(row scanner) (r sink.Record, err error) {
	var typ, revision, at, phase, from, to string
	var labels, object sql.NullString
	err = row.Scan(&r.ID, &typ, &r.Cluster, &r.Group, &r.Resource, &r.Shard, &r.Namespace, &r.Name, &r.UID, &revision, &r.Epoch,
		&r.APIVersion, &r.Kind, &at, &phase, &r.Synthetic, &r.Initial, &labels, &object, &r.Trimmed, &from, &to, &r.Reason)
	if err != nil {
		return r, err
	}
	r.Type, r.Revision, r.Phase, r.From, r.To = sink.Type(typ), kube.Revision(revision), sink.Phase(phase), kube.Revision(from), kube.Revision(to)
	if r.Time, err = time.Parse(stampLayout, at); err != nil {
		return r, err
	}
	r.Labels, r.Object, err = fromText(labels, object)
	return r, err
}

// query yields what scan makes of each row.
func query[T any](ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, scan func(scanner) (T, error), text string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := db.QueryContext(ctx, text, args...)
		if err != nil {
			yield(zero, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				yield(zero, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, err)
		}
	}
}
