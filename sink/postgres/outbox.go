package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

const (
	address = `UPDATE $s.positions SET receiver=$5, epoch=$6, phase=$7, cause=$8, sent=(SELECT coalesce(max(seq), 0) FROM $s.history WHERE ` + ofScope + `) WHERE ` + ofScope
	// The inner query reads no more than the index and these rows, and the sizes are those on
	// the disk, so that what is not returned is not decompressed.
	unsent = `SELECT seq, ` + readRecord + ` FROM (
		SELECT *, sum(coalesce(pg_column_size(object), 0)) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (
			SELECT * FROM $s.history WHERE ` + ofScope + ` AND seq > (SELECT sent FROM $s.positions WHERE ` + ofScope + `) ORDER BY seq LIMIT $6) r) n
		WHERE coalesce(before, 0) < $5 ORDER BY seq`
	sent = `UPDATE $s.positions SET sent=$5 WHERE ` + ofScope + ` AND generation=$6 AND receiver=$7 AND sent<=$5`

	following = `h.cluster=p.cluster AND h.api_group=p.api_group AND h.resource=p.resource AND h.shard=p.shard AND h.seq>p.sent`
	// forget resets the receiver of each scope of which a record in a partition is not sent.
	forget = `UPDATE $s.positions p SET receiver='' WHERE receiver<>'' AND EXISTS (SELECT FROM $p h WHERE ` + following + `)`
	// satisfied is the receiver of all shards of a resource, if it has all records.
	satisfied = `SELECT min(receiver), (SELECT coalesce(max(seq), 0) FROM $s.history` + ofResource + `) FROM $s.positions p` + ofResource + `
		HAVING min(receiver) = max(receiver) AND NOT bool_or(EXISTS (SELECT FROM $s.history h WHERE ` + following + `))`
)

// mark is where the records of a scope are sent.
func (s *Sink) mark(ctx context.Context, from interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, p sink.Position, how string) (receiver string, err error) {
	var generation int64
	err = from.QueryRow(ctx, s.sql(`SELECT receiver, generation FROM $s.positions WHERE `+ofScope+how), of(p.Scope)...).Scan(&receiver, &generation)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && generation != p.Generation {
		return "", fmt.Errorf("%s, generation %d: %w", p.Scope, p.Generation, sink.ErrFenced)
	}
	return receiver, err
}

// Address makes receiver the one to which the records of a scope are sent; see
// cloudevents.Companion.
func (s *Sink) Address(ctx context.Context, p sink.Position, receiver string) (sink.Position, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if held, err := s.mark(ctx, tx, p, ` FOR UPDATE`); err != nil || held == receiver {
			return err
		}
		p = wire.Readdress(p)
		_, err := tx.Exec(ctx, s.sql(address), append(of(p.Scope), receiver, p.Epoch, string(p.Phase), p.Cause)...)
		return err
	})
	return p, s.conceal(err)
}

// Unsent returns the records that follow the mark; see cloudevents.Companion.
func (s *Sink) Unsent(ctx context.Context, p sink.Position, bytes int) (records []sink.Record, seqs []int64, err error) {
	if _, err := s.mark(ctx, s.pool, p, ""); err != nil {
		return nil, nil, s.conceal(err)
	}
	var seq int64
	numbered := func(row pgx.Row) (sink.Record, error) { return scanRecord(prefixed{row, &seq}) }
	for r, err := range query(ctx, s, s.pool, numbered, unsent, append(of(p.Scope), bytes, wire.MostUnsent)...) {
		if err != nil {
			return nil, nil, err
		}
		records, seqs = append(records, r), append(seqs, seq)
	}
	return records, seqs, nil
}

// prefixed is a row whose first column is no column of what is scanned.
type prefixed struct {
	pgx.Row
	first any
}

// Scan scans the first column apart.
func (p prefixed) Scan(all ...any) error { return p.Row.Scan(append([]any{p.first}, all...)...) }

// Sent moves the mark; see cloudevents.Companion.
func (s *Sink) Sent(ctx context.Context, p sink.Position, receiver string, seq int64) error {
	tag, err := s.pool.Exec(ctx, s.sql(sent), append(of(p.Scope), seq, p.Generation, receiver)...)
	if err != nil || tag.RowsAffected() == 1 {
		return s.conceal(err)
	}
	held, err := s.mark(ctx, s.pool, p, "")
	if err != nil {
		return s.conceal(err)
	}
	return wire.Astray(p, held, receiver)
}

// receiver returns to whom the records of a resource are sent, and up to where it has all; ""
// unless that is so of all its shards. args are those of ofResource.
func (s *Sink) receiver(ctx context.Context, tx pgx.Tx, args []any) (to string, sent int64, err error) {
	err = tx.QueryRow(ctx, s.sql(satisfied), args...).Scan(&to, &sent)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0, nil
	}
	return to, sent, err
}
