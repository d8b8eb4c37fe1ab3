package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver registers itself

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// Options say how a file is used. The zero value is the recommended setting.
type Options struct {
	// Busy is how long to wait for another process that writes to the file. Default 10 s.
	Busy time.Duration
}

// Sink is an open file. Its methods may be called from any goroutine.
type Sink struct {
	write *sql.DB // one connection
	read  *sql.DB
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Reader = (*Sink)(nil)
)

// Open opens the file, makes it if there is none, readable by its owner only, and brings
// its schema up to date. A schema of a later release is a sink.ErrRefused.
func Open(ctx context.Context, path string, o Options) (*Sink, error) {
	if o.Busy <= 0 {
		o.Busy = 10 * time.Second
	}
	if path == "" || strings.Contains(path, "\x00") {
		return nil, fmt.Errorf("open %q: not the path of a file", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := create(abs); err != nil {
		return nil, err
	}
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String()
	pragmas := fmt.Sprintf("?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate", o.Busy.Milliseconds())
	write, err := sql.Open("sqlite", name+pragmas)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	if err := migrate(ctx, write); err != nil {
		write.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	read, err := sql.Open("sqlite", name+fmt.Sprintf("?_pragma=busy_timeout(%d)&_pragma=query_only(1)", o.Busy.Milliseconds()))
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Sink{write, read}, nil
}

// create makes a file that does not exist, with the mode that SQLite gives its other files
// too. It opens no file that exists: to close one releases the locks that SQLite holds on
// it in this process.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // SQLite would make it, readable by all
			return fmt.Errorf("open %s: it is a symbolic link to a file that does not exist: name that file", path)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the file. No method may be under way.
func (s *Sink) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// Open takes possession of a scope; see sink.Sink.
func (s *Sink) Open(ctx context.Context, scope sink.Scope) (sink.Position, sink.Known, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return sink.Position{}, nil, err
	}
	defer tx.Rollback()
	if err := sameShards(ctx, tx, scope); err != nil {
		return sink.Position{}, nil, err
	}
	held, err := position(tx.QueryRowContext(ctx, `SELECT `+positionColumns+` FROM positions WHERE `+ofScope, of(scope)...))
	stored := &held
	if errors.Is(err, sql.ErrNoRows) {
		stored = nil
	} else if err != nil {
		return sink.Position{}, nil, err
	}
	p, err := wire.Take(scope, stored, nil) // sameShards has compared the shards
	if err != nil {
		return sink.Position{}, nil, err
	}
	if err := put(ctx, tx, p); err != nil {
		return sink.Position{}, nil, err
	}
	if err := tx.Commit(); err != nil {
		return sink.Position{}, nil, err
	}
	return p, s.known(scope), nil
}

// sameShards refuses another number of shards than the table was made with.
func sameShards(ctx context.Context, tx *sql.Tx, scope sink.Scope) error {
	var shards int
	err := tx.QueryRowContext(ctx, `SELECT shards FROM positions WHERE cluster=? AND api_group=? AND resource=? AND shards<>? LIMIT 1`,
		scope.Cluster, scope.Resource.Group, scope.Resource.Plural, scope.Count()).Scan(&shards)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s: the table was made with %d shards, not %d: reshard changes it: %w", scope, shards, scope.Count(), sink.ErrRefused)
}

// Commit writes records and position in one transaction; see sink.Sink.
func (s *Sink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	args := []any{string(p.Revision), p.Sequence, p.Epoch, string(p.Phase), p.Cause, stamp(p.Time), string(p.Control)}
	res, err := tx.ExecContext(ctx, `UPDATE positions SET revision=?, sequence=?, epoch=?, phase=?, cause=?, updated=?, control=? WHERE `+ofScope+` AND generation=? AND sequence=?`,
		append(append(args, of(p.Scope)...), p.Generation, p.Sequence-1)...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n != 1 {
		return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
	}
	w, err := newWriter(ctx, tx, p.Scope.Mode)
	if err != nil {
		return err
	}
	defer w.close()
	for i := range records {
		if err := w.record(ctx, &records[i]); err != nil {
			return fmt.Errorf("write %s %s of %s: %w", records[i].Type, records[i].Key(), p.Scope, err)
		}
	}
	return tx.Commit()
}

// known returns the objects of a scope that the table holds.
func (s *Sink) known(scope sink.Scope) sink.Known {
	return func(ctx context.Context) iter.Seq2[sink.Held, error] {
		return query(ctx, s.read, scanHeld, `SELECT namespace, name, uid, revision, epoch FROM objects WHERE `+ofScope, of(scope)...)
	}
}

func scanHeld(row scanner) (h sink.Held, err error) {
	var revision string
	err = row.Scan(&h.Key.Namespace, &h.Key.Name, &h.UID, &revision, &h.Epoch)
	h.Revision = kube.Revision(revision)
	return h, err
}

// Prune removes records of the history that are older than before, GAP records aside, at
// most limit of them, and returns how many. If one of them was not posted yet, it resets the
// receiver of its scope, in the same transaction; see cloudevents.Companion.
func (s *Sink) Prune(ctx context.Context, before time.Time, limit int) (int64, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	const old = `(SELECT seq FROM history WHERE time < ? AND type <> 'GAP' ORDER BY time, seq LIMIT ?)`
	if _, err := tx.ExecContext(ctx, forget+old+`)`, stamp(before), limit); err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, `DELETE FROM history WHERE seq IN `+old, stamp(before), limit)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, err
	}
	return n, tx.Commit()
}
