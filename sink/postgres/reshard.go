package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

var _ sink.Resharder = (*Sink)(nil)

const (
	ofResource = ` WHERE cluster=$1 AND api_group=$2 AND resource=$3`
	moveRows   = `UPDATE $s.objects o SET shard=m.shard FROM unnest($4::text[], $5::text[], $6::int[]) m(namespace, name, shard)
		WHERE o.cluster=$1 AND o.api_group=$2 AND o.resource=$3 AND o.namespace=m.namespace AND o.name=m.name AND o.shard<>m.shard`
)

// Reshard divides the table of a resource in one transaction; see sink.Resharder.
func (s *Sink) Reshard(ctx context.Context, cluster string, r kube.Resource, shards int) error {
	return s.conceal(pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.lock(ctx, tx, cluster, r); err != nil {
			return err
		}
		args := []any{cluster, r.Group, r.Plural}
		old, err := collect(query(ctx, s, tx, scanPosition, `SELECT `+positionColumns+` FROM $s.positions`+ofResource+` FOR UPDATE`, args...))
		if err != nil {
			return err
		}
		next, err := wire.Reshard(old, r, shards)
		if err != nil {
			return err
		}
		server, sent, err := s.receiver(ctx, tx, args)
		if err != nil {
			return err
		}
		batch, names := new(pgx.Batch), wire.Namesakes{}
		var deleted []sink.Record
		for h, err := range query(ctx, s, tx, scanHeld, `SELECT namespace, name, uid, revision, epoch FROM $s.objects`+ofResource, args...) {
			if err != nil {
				return err
			}
			if d, found := names.Add(h); found {
				deleted = append(deleted, wire.Deletion(next[0], d))
			}
		}
		if err := s.provide(ctx, deleted); err != nil {
			return err
		}
		for i := range deleted {
			s.record(batch, &deleted[i], nil, next[0].Scope.Mode)
		}
		var namespaces, keys []string
		var to []int
		for k, h := range names {
			namespaces, keys, to = append(namespaces, k.Namespace), append(keys, k.Name), append(to, sink.ShardOf(h.UID, shards))
		}
		batch.Queue(s.sql(moveRows), append(args[:3:3], namespaces, keys, to)...)
		batch.Queue(s.sql(`DELETE FROM $s.positions`+ofResource), args...)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		for _, p := range next {
			if err := s.put(ctx, tx, p); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, s.sql(`UPDATE $s.positions SET receiver=$4, sent=$5`+ofResource), append(args[:3:3], server, sent)...)
		return err
	}))
}
