package postgres

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

const (
	recordColumns = `id, type, cluster, api_group, resource, shard, namespace, name, uid, revision, epoch, api_version, kind, time, phase, synthetic, initial, labels, object, trimmed, from_revision, to_revision, reason`
	rowColumns    = `cluster, api_group, resource, namespace, name, shard, uid, revision, epoch, api_version, kind, labels, object, phase, trimmed, quarantined, updated`

	insertRecord = ` (` + recordColumns + `, raw) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18::text::jsonb,$19::text::jsonb,$20,$21,$22,$23,$24)`
	upsertRow    = `INSERT INTO $s.objects (` + rowColumns + `, raw) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12::text::jsonb,$13::text::jsonb,$14,$15,$16,$17,$18)` + replaceRow
	replaceRow   = `
		ON CONFLICT (cluster, api_group, resource, namespace, name, shard) DO UPDATE SET uid=excluded.uid, revision=excluded.revision, epoch=excluded.epoch,
		api_version=excluded.api_version, kind=excluded.kind, labels=excluded.labels, object=excluded.object, raw=excluded.raw, phase=excluded.phase,
		trimmed=excluded.trimmed, quarantined=excluded.quarantined, updated=excluded.updated`
	removeRow = `DELETE FROM $s.objects WHERE cluster=$1 AND api_group=$2 AND resource=$3 AND namespace=$4 AND name=$5 AND uid=$6`
)

// record queues the statements of one record. raw is the object that jsonb refuses.
func (s *Sink) record(b *pgx.Batch, r *sink.Record, raw []byte, mode sink.Mode) {
	args := []any{r.ID, string(r.Type), r.Cluster, r.Group, r.Resource, r.Shard, r.Namespace, r.Name, r.UID,
		string(r.Revision), r.Epoch, r.APIVersion, r.Kind, r.Time, string(r.Phase), r.Synthetic, r.Initial,
		labelsText(r.Labels), objectText(r.Object), r.Trimmed, string(r.From), string(r.To), clean(r.Reason), raw}
	if mode != sink.ModeTable || r.Type == sink.Gap || r.Type == sink.Quarantined {
		b.Queue(s.sql(`INSERT INTO $s.history`+insertRecord), args...)
	}
	switch r.Type {
	case sink.Gap:
		b.Queue(s.sql(`INSERT INTO $s.gaps (seq, `+recordColumns+`, raw) SELECT currval('$s.history_seq'), v.* FROM (VALUES ($1,$2,$3,$4,$5,$6::int,$7,$8,$9,$10,$11::bigint,$12,$13,$14::timestamptz,$15,$16::bool,$17::bool,$18::text::jsonb,$19::text::jsonb,$20::bool,$21,$22,$23,$24::bytea)) v`), args...)
		return
	case sink.Deleted, sink.Left:
		b.Queue(s.sql(removeRow), r.Cluster, r.Group, r.Resource, r.Namespace, r.Name, r.UID)
		return
	}
	row := sink.RowOf(r)
	if mode == sink.ModeHistory {
		row.Object, raw = nil, nil
	}
	b.Queue(s.sql(upsertRow), r.Cluster, row.Group, row.Resource, row.Namespace, row.Name, r.Shard, row.UID, string(row.Revision), row.Epoch,
		row.APIVersion, r.Kind, labelsText(row.Labels), objectText(row.Object), string(r.Phase), row.Trimmed, clean(row.Quarantined), r.Time, raw)
}

// clean removes what text cannot hold.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// labelsText returns labels as JSON, NULL for none.
func labelsText(m map[string]string) *string {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	text := string(b)
	return &text
}

func objectText(b json.RawMessage) *string {
	if len(b) == 0 {
		return nil
	}
	text := string(b)
	return &text
}

// written returns how many bytes jsonb writes for an object, or more. It writes a space after each
// comma and colon, and all digits of 1e+308.
func written(object json.RawMessage) int64 {
	n := 2 * int64(len(object))
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '"': // to the end of the string
			for i++; i < len(object) && object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
		case 'e', 'E': // of true and false, too
			if i+1 < len(object) && (object[i+1] == '+' || object[i+1] == '-') {
				i++
			}
			exponent := int64(0)
			for ; i+1 < len(object) && '0' <= object[i+1] && object[i+1] <= '9'; i++ {
				exponent = min(10*exponent+int64(object[i+1]-'0'), 1<<20) // jsonb has less
			}
			n += exponent
		}
	}
	return n
}

func scanPosition(row pgx.Row) (p sink.Position, err error) {
	var selection, revision, phase, control string
	s := &p.Scope
	err = row.Scan(&s.Cluster, &s.Resource.Group, &s.Resource.Plural, &s.Shard, &s.Shards, &s.Resource.Version, &selection,
		&revision, &p.Generation, &p.Sequence, &p.Epoch, &phase, &p.Cause, &p.Time, &control)
	if err != nil {
		return p, err
	}
	p.Revision, p.Phase, p.Time, p.Control = kube.Revision(revision), sink.Phase(phase), p.Time.UTC(), sink.Control(control)
	return p, s.Select(selection)
}

// Positions returns the positions of all scopes; see sink.Reader.
func (s *Sink) Positions(ctx context.Context) ([]sink.Position, error) {
	return collect(query(ctx, s, s.pool, scanPosition, `SELECT `+positionColumns+` FROM $s.positions ORDER BY 1, 2, 3, 4`))
}

// Rows iterates the table of a resource; see sink.Reader.
func (s *Sink) Rows(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Row, error] {
	return query(ctx, s, s.pool, scanRow, `SELECT api_group, resource, namespace, name, uid, revision, epoch, api_version, labels::text, object::text, trimmed, quarantined
		FROM $s.objects WHERE cluster=$1 AND api_group=$2 AND resource=$3 ORDER BY namespace, name, shard`, cluster, r.Group, r.Plural)
}

func scanRow(row pgx.Row) (r sink.Row, err error) {
	var revision string
	var labels, object *string
	err = row.Scan(&r.Group, &r.Resource, &r.Namespace, &r.Name, &r.UID, &revision, &r.Epoch, &r.APIVersion, &labels, &object, &r.Trimmed, &r.Quarantined)
	if err != nil {
		return r, err
	}
	r.Revision = kube.Revision(revision)
	r.Labels, r.Object, err = fromText(labels, object)
	return r, err
}

func fromText(labels, object *string) (m map[string]string, o json.RawMessage, err error) {
	if labels != nil {
		if err = json.Unmarshal([]byte(*labels), &m); err != nil {
			return nil, nil, err
		}
	}
	if object != nil {
		o = json.RawMessage(*object)
	}
	return m, o, nil
}

const readRecord = `id, type, cluster, api_group, resource, shard, namespace, name, uid, revision, epoch, api_version, kind, time, phase, synthetic, initial, labels::text, object::text, trimmed, from_revision, to_revision, reason`

// Records iterates the history of a resource; see sink.Reader.
func (s *Sink) Records(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Record, error] {
	return query(ctx, s, s.pool, scanRecord, `SELECT `+readRecord+` FROM $s.history WHERE cluster=$1 AND api_group=$2 AND resource=$3 ORDER BY seq`, cluster, r.Group, r.Plural)
}

// Gaps returns the GAP records of a resource; see sink.Reader.
func (s *Sink) Gaps(ctx context.Context, cluster string, r kube.Resource) ([]sink.Record, error) {
	return collect(query(ctx, s, s.pool, scanRecord, `SELECT `+readRecord+` FROM $s.gaps WHERE cluster=$1 AND api_group=$2 AND resource=$3 ORDER BY seq`, cluster, r.Group, r.Plural))
}

func scanRecord(row pgx.Row) (r sink.Record, err error) {
	var typ, revision, phase, from, to string
	var labels, object *string
	err = row.Scan(&r.ID, &typ, &r.Cluster, &r.Group, &r.Resource, &r.Shard, &r.Namespace, &r.Name, &r.UID, &revision, &r.Epoch,
		&r.APIVersion, &r.Kind, &r.Time, &phase, &r.Synthetic, &r.Initial, &labels, &object, &r.Trimmed, &from, &to, &r.Reason)
	if err != nil {
		return r, err
	}
	r.Type, r.Revision, r.Phase, r.From, r.To = sink.Type(typ), kube.Revision(revision), sink.Phase(phase), kube.Revision(from), kube.Revision(to)
	r.Time = r.Time.UTC()
	r.Labels, r.Object, err = fromText(labels, object)
	return r, err
}

// query yields what scan makes of each row.
func query[T any](ctx context.Context, s *Sink, from interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}, scan func(pgx.Row) (T, error), text string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := from.Query(ctx, s.sql(text), args...)
		if err != nil {
			yield(zero, s.conceal(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				yield(zero, s.conceal(err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, s.conceal(err))
		}
	}
}

func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
