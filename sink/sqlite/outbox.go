package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// mark is where the records of a scope are sent, and the generation of its possessor.
func mark(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, p sink.Position) (receiver string, err error) {
	var generation int64
	err = db.QueryRowContext(ctx, `SELECT receiver, generation FROM positions WHERE `+ofScope, of(p.Scope)...).Scan(&receiver, &generation)
	if errors.Is(err, sql.ErrNoRows) || err == nil && generation != p.Generation {
		return "", fmt.Errorf("%s, generation %d: %w", p.Scope, p.Generation, sink.ErrFenced)
	}
	return receiver, err
}

// Address makes receiver the one to which the records of a scope are sent; see
// cloudevents.Companion.
func (s *Sink) Address(ctx context.Context, p sink.Position, receiver string) (sink.Position, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return p, err
	}
	defer tx.Rollback()
	if held, err := mark(ctx, tx, p); err != nil || held == receiver {
		return p, err
	}
	next := wire.Readdress(p)
	_, err = tx.ExecContext(ctx, `UPDATE positions SET receiver=?, epoch=?, phase=?, cause=?, sent=(SELECT coalesce(max(seq), 0) FROM history WHERE `+ofScope+`) WHERE `+ofScope,
		append(append([]any{receiver, next.Epoch, string(next.Phase), next.Cause}, of(p.Scope)...), of(p.Scope)...)...)
	if err != nil {
		return p, err
	}
	return next, tx.Commit()
}

// Unsent returns the records that follow the mark; see cloudevents.Companion.
func (s *Sink) Unsent(ctx context.Context, p sink.Position, bytes int) (records []sink.Record, seqs []int64, err error) {
	if _, err := mark(ctx, s.read, p); err != nil {
		return nil, nil, err
	}
	var seq int64
	numbered := func(row scanner) (sink.Record, error) { return scanRecord(prefixed{row, &seq}) }
	next := query(ctx, s.read, numbered, `SELECT seq, `+recordColumns+` FROM history WHERE `+ofScope+`
		AND seq > (SELECT sent FROM positions WHERE `+ofScope+`) ORDER BY seq LIMIT ?`, append(append(of(p.Scope), of(p.Scope)...), wire.MostUnsent)...)
	for r, err := range next {
		if err != nil {
			return nil, nil, err
		}
		records, seqs = append(records, r), append(seqs, seq)
		if bytes -= r.Size(); bytes <= 0 {
			break
		}
	}
	return records, seqs, nil
}

// prefixed is a row whose first column is no column of what is scanned.
type prefixed struct {
	scanner
	first any
}

// Scan scans the first column apart.
func (p prefixed) Scan(all ...any) error { return p.scanner.Scan(append([]any{p.first}, all...)...) }

// Sent moves the mark; see cloudevents.Companion.
func (s *Sink) Sent(ctx context.Context, p sink.Position, receiver string, seq int64) error {
	res, err := s.write.ExecContext(ctx, `UPDATE positions SET sent=? WHERE `+ofScope+` AND generation=? AND receiver=? AND sent<=?`,
		append(append([]any{seq}, of(p.Scope)...), p.Generation, receiver, seq)...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	held, err := mark(ctx, s.read, p)
	if err != nil {
		return err
	}
	return wire.Astray(p, held, receiver)
}

const (
	// forget resets the receiver of each scope of which a record in the list is not sent.
	forget = `UPDATE positions AS p SET receiver='' WHERE receiver<>'' AND EXISTS (SELECT 1 FROM history h
		WHERE h.cluster=p.cluster AND h.api_group=p.api_group AND h.resource=p.resource AND h.shard=p.shard AND h.seq>p.sent AND h.seq IN `

	// satisfied is the receiver of all shards of a resource, if it has all records.
	satisfied = `SELECT receiver, (SELECT coalesce(max(seq), 0) FROM history` + ofResource + `) FROM positions` + ofResource + ` AND NOT EXISTS (
		SELECT 1 FROM positions q WHERE q.cluster=positions.cluster AND q.api_group=positions.api_group AND q.resource=positions.resource
		AND (q.receiver<>positions.receiver OR EXISTS (SELECT 1 FROM history h
			WHERE h.cluster=q.cluster AND h.api_group=q.api_group AND h.resource=q.resource AND h.shard=q.shard AND h.seq>q.sent))) LIMIT 1`
)

// receiver returns to whom the records of a resource are sent, and up to where it has all; ""
// unless that is so of all its shards. args are those of ofResource.
func receiver(ctx context.Context, tx *sql.Tx, args []any) (to string, sent int64, err error) {
	err = tx.QueryRowContext(ctx, satisfied, append(args[:3:3], args...)...).Scan(&to, &sent)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	return to, sent, err
}
