package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/listwatch/listwatch/internal/hide"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// Options say how a database is used. The zero value is the recommended setting.
type Options struct {
	Schema string // of the tables; default listwatch. It is made if there is none.
}

// Sink is a pool of connections. Its methods may be called from any goroutine. Their errors do not
// show the password, which a server may repeat.
type Sink struct {
	pool           *pgxpool.Pool
	schema, quoted string
	password       string

	mu   sync.Mutex
	days map[time.Time]bool // whose partitions exist
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Reader = (*Sink)(nil)
)

// maxMessage limits a message of the server, such as a row with its object, in bytes. pgx allocates
// what the header announces. An object of 1.5 MiB, the limit of etcd, can take 68 MiB as text of
// a jsonb, which has 311 bytes for the 7 of "1e+308,". Commit admits texts up to maxText; the
// rest is for the other columns.
const (
	maxMessage = 256 << 20
	maxText    = 224 << 20
)

// Open connects to the database of a URL or DSN as libpq knows them, and brings the schema
// up to date. Its errors do not show the URL, which may hold a password, nor the password.
// A server has 10 seconds for a new connection, unless connect_timeout has another number; 0 is 10
// seconds, too, and not for ever as for libpq.
func Open(ctx context.Context, url string, o Options) (*Sink, error) {
	if o.Schema == "" {
		o.Schema = "listwatch"
	}
	c, err := configure(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", hide.Error(err, c.ConnConfig.Password))
	}
	s := &Sink{pool: pool, password: c.ConnConfig.Password, schema: o.Schema, quoted: pgx.Identifier{o.Schema}.Sanitize(), days: map[time.Time]bool{}}
	if err := s.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open postgres: %w", s.conceal(err))
	}
	return s, nil
}

// configure returns how connections are made.
func configure(url string) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil && strings.Contains(err.Error(), "`: invalid connect_timeout (") {
		return nil, errors.New("open postgres: connect_timeout must be a number of seconds")
	} else if err != nil {
		return nil, errors.New("open postgres: the URL cannot be read") // err may quote it
	}
	c.ConnConfig.MaxProtocolMessageBodyLen = maxMessage
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	c.AfterConnect = limitIdle
	return c, nil
}

// limitIdle lets the server end a transaction whose client is silent for 10 seconds, unless
// the server has a limit: a leader that froze, or whose machine vanished, in the middle of a
// commit would keep its locks, and so the next leader from the position.
func limitIdle(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', '10s', false)
		WHERE current_setting('idle_in_transaction_session_timeout') = '0'`)
	return err
}

// conceal returns err without the password, also in the *pgconn.PgError that it wraps.
func (s *Sink) conceal(err error) error {
	if said := (*pgconn.PgError)(nil); errors.As(err, &said) { // which is this error's alone
		for _, text := range []*string{&said.Message, &said.Detail, &said.Hint, &said.Where} {
			*text = hide.Text(*text, []string{s.password})
		}
	}
	return hide.Error(err, s.password)
}

// Close closes the connections. No method may be under way.
func (s *Sink) Close() error {
	s.pool.Close()
	return nil
}

const (
	positionColumns = `cluster, api_group, resource, shard, shards, version, selection, revision, generation, sequence, epoch, phase, cause, updated, control`
	ofScope         = `cluster=$1 AND api_group=$2 AND resource=$3 AND shard=$4`
)

func of(s sink.Scope) []any {
	return []any{s.Cluster, s.Resource.Group, s.Resource.Plural, s.Shard}
}

// Open takes possession of a scope; see sink.Sink.
func (s *Sink) Open(ctx context.Context, scope sink.Scope) (p sink.Position, known sink.Known, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.lock(ctx, tx, scope.Cluster, scope.Resource); err != nil {
			return err
		}
		var other int
		err := tx.QueryRow(ctx, s.sql(`SELECT shards FROM $s.positions WHERE cluster=$1 AND api_group=$2 AND resource=$3 AND shards<>$4 LIMIT 1`),
			scope.Cluster, scope.Resource.Group, scope.Resource.Plural, scope.Count()).Scan(&other)
		if err == nil {
			return fmt.Errorf("%s: the table was made with %d shards, not %d: reshard changes it: %w", scope, other, scope.Count(), sink.ErrRefused)
		} else if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		held, err := scanPosition(tx.QueryRow(ctx, s.sql(`SELECT `+positionColumns+` FROM $s.positions WHERE `+ofScope+` FOR UPDATE`), of(scope)...))
		stored := &held
		if errors.Is(err, pgx.ErrNoRows) {
			stored = nil
		} else if err != nil {
			return err
		}
		if p, err = wire.Take(scope, stored, nil); err != nil { // the shards were compared above
			return err
		}
		return s.put(ctx, tx, p)
	})
	if err != nil {
		return sink.Position{}, nil, s.conceal(err)
	}
	return p, s.known(scope), nil
}

// lock admits one at a time for all shards of a resource, whose number must be the same.
func (s *Sink) lock(ctx context.Context, tx pgx.Tx, cluster string, r kube.Resource) error {
	table := strings.Join([]string{s.schema, cluster, r.Group, r.Plural}, "\n")
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, table)
	return err
}

// put writes a position.
func (s *Sink) put(ctx context.Context, tx pgx.Tx, p sink.Position) error {
	_, err := tx.Exec(ctx, s.sql(`INSERT INTO $s.positions (`+positionColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)
		ON CONFLICT (cluster, api_group, resource, shard) DO UPDATE SET version=excluded.version, selection=excluded.selection,
		generation=excluded.generation, epoch=excluded.epoch, phase=excluded.phase, cause=excluded.cause, control=excluded.control`),
		append(of(p.Scope), p.Scope.Count(), p.Scope.Resource.Version, p.Scope.Selection(),
			string(p.Revision), p.Generation, p.Sequence, p.Epoch, string(p.Phase), p.Cause, p.Time, string(p.Control))...)
	return err
}

// Commit writes records and position in one transaction; see sink.Sink.
func (s *Sink) Commit(ctx context.Context, records []sink.Record, p sink.Position) (err error) {
	defer func() { err = s.conceal(err) }()
	if err := s.provide(ctx, records); err != nil {
		return err
	}
	raw := unreadable(records)
	err = s.commit(ctx, records, raw, p)
	refused := (*pgconn.PgError)(nil)
	if errors.As(err, &refused) && refused.Code == noPartition { // somebody has dropped it; all is rolled back
		s.mu.Lock()
		clear(s.days)
		s.mu.Unlock()
		if err := s.provide(ctx, records); err != nil {
			return err
		}
		err = s.commit(ctx, records, raw, p)
	}
	if errors.As(err, &refused) && refusesData(refused.Code) {
		// The transaction is rolled back, and which records it failed for is not said.
		bad, checkErr := s.unstorable(ctx, records)
		if checkErr != nil {
			return checkErr
		}
		if len(bad) > 0 {
			maps.Copy(raw, bad)
			return s.commit(ctx, records, raw, p)
		}
	}
	return err
}

// noPartition is the code of SQLSTATE for a row without a partition.
const noPartition = "23514"

// refusesData reports whether a code of SQLSTATE says that a value cannot be stored: data
// exceptions, and limits of the program such as the depth of JSON.
func refusesData(code string) bool {
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "54")
}

// unreadable returns why jsonb would be read as more than a message holds, by the index of records.
func unreadable(records []sink.Record) map[int]string {
	why := map[int]string{}
	for i := range records {
		if written(records[i].Object) > maxText {
			why[i] = fmt.Sprintf("jsonb would write more than %d MiB", maxText>>20)
		}
	}
	return why
}

// unstorable returns why jsonb refuses the objects or labels of records, by their index.
func (s *Sink) unstorable(ctx context.Context, records []sink.Record) (map[int]string, error) {
	why := map[int]string{}
	for i := range records {
		_, err := s.pool.Exec(ctx, `SELECT $1::text::jsonb, $2::text::jsonb`, objectText(records[i].Object), labelsText(records[i].Labels))
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refusesData(refused.Code) {
			why[i] = "jsonb cannot hold it: " + hide.Text(refused.Message, []string{s.password}) // which quotes nothing
		} else if err != nil {
			return nil, err
		}
	}
	return why, nil
}

func (s *Sink) commit(ctx context.Context, records []sink.Record, raw map[int]string, p sink.Position) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, s.sql(`UPDATE $s.positions SET revision=$5, sequence=$6, epoch=$7, phase=$8, cause=$9, updated=$10, control=$11 WHERE `+ofScope+` AND generation=$12 AND sequence=$13`),
			append(of(p.Scope), string(p.Revision), p.Sequence, p.Epoch, string(p.Phase), p.Cause, p.Time, string(p.Control), p.Generation, p.Sequence-1)...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() != 1 {
			return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
		}
		if len(raw) == 0 && bulky(records) {
			return s.bulk(ctx, tx, records, p.Scope.Mode)
		}
		batch := new(pgx.Batch)
		for i := range records {
			r := &records[i]
			var bytes []byte
			if reason, bad := raw[i]; bad {
				copied := *r
				r, bytes = &copied, copied.Object
				r.Object, r.Labels = nil, nil
				if r.Type != sink.Deleted && r.Type != sink.Left {
					r.Type, r.Reason = sink.Quarantined, reason
				}
			}
			s.record(batch, r, bytes, p.Scope.Mode)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// known returns the objects of a scope that the table holds.
func (s *Sink) known(scope sink.Scope) sink.Known {
	return func(ctx context.Context) iter.Seq2[sink.Held, error] {
		return query(ctx, s, s.pool, scanHeld, `SELECT namespace, name, uid, revision, epoch FROM $s.objects WHERE `+ofScope, of(scope)...)
	}
}

func scanHeld(row pgx.Row) (h sink.Held, err error) {
	var revision string
	err = row.Scan(&h.Key.Namespace, &h.Key.Name, &h.UID, &revision, &h.Epoch)
	h.Revision = kube.Revision(revision)
	return h, err
}
