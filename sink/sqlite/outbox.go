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
	_, err = tx.ExecContext(ctx, `UPDATE positions SET receiver=?, sent=(SELECT coalesce(max(seq), 0) FROM history WHERE `+ofScope+`) WHERE `+ofScope,
		append(append([]any{receiver}, of(p.Scope)...), of(p.Scope)...)...)
	if err != nil {
		return p, err
	}
	return p, tx.Commit()
}

// Unsent returns the records that follow the mark; see cloudevents.Companion.
func (s *Sink) Unsent(ctx context.Context, scope sink.Scope, bytes int) (records []sink.Record, seqs []int64, err error) {
	var seq int64
	numbered := func(row scanner) (sink.Record, error) { return scanRecord(prefixed{row, &seq}) }
	next := query(ctx, s.read, numbered, `SELECT seq, `+recordColumns+` FROM history WHERE `+ofScope+`
		AND seq > (SELECT sent FROM positions WHERE `+ofScope+`) ORDER BY seq LIMIT ?`, append(append(of(scope), of(scope)...), wire.MostUnsent)...)
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
