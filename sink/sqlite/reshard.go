package sqlite

import (
	"context"
	"database/sql"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

var _ sink.Resharder = (*Sink)(nil)

const ofResource = ` WHERE cluster=? AND api_group=? AND resource=?`

// Reshard divides the table of a resource in one transaction; see sink.Resharder.
func (s *Sink) Reshard(ctx context.Context, cluster string, r kube.Resource, shards int) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	args := []any{cluster, r.Group, r.Plural}
	var old []sink.Position
	for p, err := range query(ctx, tx, position, `SELECT `+positionColumns+` FROM positions`+ofResource, args...) {
		if err != nil {
			return err
		}
		old = append(old, p)
	}
	next, err := wire.Reshard(old, r, shards)
	if err != nil {
		return err
	}
	server, sent, err := receiver(ctx, tx, args)
	if err != nil {
		return err
	}
	w, err := newWriter(ctx, tx, next[0].Scope.Mode)
	if err != nil {
		return err
	}
	defer w.close()
	var deleted []sink.Held
	names := wire.Namesakes{}
	for h, err := range query(ctx, tx, scanHeld, `SELECT namespace, name, uid, revision, epoch FROM objects`+ofResource, args...) {
		if err != nil {
			return err
		}
		if d, found := names.Add(h); found {
			deleted = append(deleted, d)
		}
	}
	for _, h := range deleted {
		rec := wire.Deletion(next[0], h)
		if err := w.record(ctx, &rec); err != nil {
			return err
		}
	}
	for k, h := range names {
		shard := sink.ShardOf(h.UID, shards)
		if _, err := tx.ExecContext(ctx, `UPDATE objects SET shard=?`+ofResource+` AND namespace=? AND name=? AND shard<>?`,
			append(append([]any{shard}, args...), k.Namespace, k.Name, shard)...); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM positions`+ofResource, args...); err != nil {
		return err
	}
	for _, p := range next {
		if err := put(ctx, tx, p); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE positions SET receiver=?, sent=?`+ofResource, append([]any{server, sent}, args...)...); err != nil {
		return err
	}
	return tx.Commit()
}

// put writes a position.
func put(ctx context.Context, tx *sql.Tx, p sink.Position) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO positions (`+positionColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT DO UPDATE SET version=excluded.version, selection=excluded.selection, generation=excluded.generation,
		epoch=excluded.epoch, phase=excluded.phase, cause=excluded.cause, control=excluded.control`,
		append(of(p.Scope), p.Scope.Count(), p.Scope.Resource.Version, p.Scope.Selection(),
			string(p.Revision), p.Generation, p.Sequence, p.Epoch, string(p.Phase), p.Cause, stamp(p.Time), string(p.Control))...)
	return err
}
