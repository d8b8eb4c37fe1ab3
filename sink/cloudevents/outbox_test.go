package cloudevents_test

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/cloudevents"
	"github.com/listwatch/listwatch/sink/internal/pgtest"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// until waits until the receiver has what is wanted.
func (r *receiver) until(what string, reached func([]sink.Record) bool) {
	r.t.Helper()
	var all []sink.Record
	soon(r.t, func() bool {
		r.mu.Lock()
		all = r.records
		r.mu.Unlock()
		return reached(all)
	}, func() string { return fmt.Sprintf("%s: not in %d records: %+v", what, len(all), all) })
}

// soon waits until something is so; the test fails with missing after a minute.
func soon(t *testing.T, reached func() bool, missing func() string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !reached(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(missing())
		}
	}
}

// has waits for a record of a type and a name.
func (r *receiver) has(typ sink.Type, name string) {
	r.t.Helper()
	r.until(string(typ)+" "+name, func(all []sink.Record) bool {
		for _, rec := range all {
			if rec.Type == typ && rec.Name == name {
				return true
			}
		}
		return false
	})
}

// run runs a Runner of a world until stop is called.
func run(t *testing.T, w *sinktest.World, s sink.Sink) (stop func()) {
	t.Helper()
	return runShards(t, w, s, 0, 0)
}

func newWorld(t *testing.T) *sinktest.World {
	return sinktest.NewWorld(apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true}))
}

// TestDeletionOfWhatWasPostedAtTheEnd: a process ends before it learns that its last records
// were received. The object is deleted, and the server forgets it: the receiver must learn that.
func TestDeletionOfWhatWasPostedAtTheEnd(t *testing.T) {
	r, srv := newReceiver(t)
	r.steady = true
	w, path := newWorld(t), filepath.Join(t.TempDir(), "positions.db")
	w.Put("old", "web", "")
	stop := run(t, w, open(t, srv.URL, path))
	r.has(sink.Added, "old")
	r.mu.Lock()
	r.mute = true
	r.mu.Unlock()
	w.Put("ghost", "web", "")
	r.has(sink.Added, "ghost")
	stop()
	w.Delete("ghost")
	w.Expire()
	r.mu.Lock()
	r.mute = false
	r.mu.Unlock()
	s := open(t, srv.URL, path)
	run(t, w, s)
	r.has(sink.Deleted, "ghost")
	w.Put("last", "web", "")
	r.has(sink.Added, "last")
	same(t, r, s)
}

// same requires that the receiver has the records of the companion's history, in their order.
func same(t *testing.T, r *receiver, companion sink.Reader) {
	t.Helper()
	positions, err := companion.Positions(t.Context())
	if err != nil || len(positions) != 1 {
		t.Fatalf("%d positions, error %v", len(positions), err)
	}
	r.mu.Lock()
	got := r.records
	r.mu.Unlock()
	n := 0
	for rec, err := range companion.Records(t.Context(), positions[0].Scope.Cluster, sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		if n >= len(got) || got[n].ID != rec.ID {
			var received []string
			for _, g := range got[max(0, n-2):min(n+3, len(got))] {
				received = append(received, fmt.Sprintf("%s %s %s epoch %d %s-%s %s (%s)", g.Type, g.Name, g.Revision, g.Epoch, g.From, g.To, g.ID, g.Reason))
			}
			t.Fatalf("record %d of the history is %s %s %s epoch %d %s-%s %s (%s), and not that of the receiver, which has %d, there %q",
				n, rec.Type, rec.Name, rec.Revision, rec.Epoch, rec.From, rec.To, rec.ID, rec.Reason, len(got), received)
		}
		n++
	}
	if n != len(got) {
		t.Errorf("the history has %d records, the receiver %d", n, len(got))
	}
}

// flaky is a companion some of whose calls fail, before they are done or after. Those of
// commands do not.
type flaky struct {
	cloudevents.Companion
	dice *dice
}

// dice may be used from any goroutine.
type dice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

var errLost = errors.New("the connection was lost")

func (f *flaky) do(what func() error) error {
	f.dice.mu.Lock()
	n := f.dice.rand.IntN(40)
	f.dice.mu.Unlock()
	if n == 0 {
		return errLost
	}
	if err := what(); err != nil {
		return err
	}
	if n == 1 {
		return errLost
	}
	return nil
}

func (f *flaky) Open(ctx context.Context, s sink.Scope) (p sink.Position, known sink.Known, err error) {
	if s.Release {
		return f.Companion.Open(ctx, s)
	}
	err = f.do(func() error { p, known, err = f.Companion.Open(ctx, s); return err })
	return p, known, err
}

func (f *flaky) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	if p.Scope.Release {
		return f.Companion.Commit(ctx, records, p)
	}
	return f.do(func() error { return f.Companion.Commit(ctx, records, p) })
}

func (f *flaky) Address(ctx context.Context, p sink.Position, receiver string) (next sink.Position, err error) {
	err = f.do(func() error { next, err = f.Companion.Address(ctx, p, receiver); return err })
	return next, err
}

func (f *flaky) Unsent(ctx context.Context, p sink.Position, bytes int) (records []sink.Record, numbers []int64, err error) {
	err = f.do(func() error { records, numbers, err = f.Companion.Unsent(ctx, p, min(bytes, 4000)); return err })
	return records, numbers, err
}

func (f *flaky) Sent(ctx context.Context, p sink.Position, receiver string, number int64) error {
	return f.do(func() error { return f.Companion.Sent(ctx, p, receiver, number) })
}

// TestSoak moves a world while all of it fails: the receiver, the companion, and what the soak
// does. In the end the receiver has the companion's history, each record once but for its
// duplicates, and so the state of the table.
func TestSoak(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			r, srv := newReceiver(t)
			r.rude = true
			dice := &dice{rand: rand.New(rand.NewPCG(1, 2))}
			sinktest.Soak(t, store(r, srv.URL, func(t *testing.T) cloudevents.Companion { return &flaky{companion(t), dice} }),
				sinktest.SoakOptions{Seed: 1, Rounds: *soakRounds})
			same(t, r, companion(t))
			if r.repeated == 0 {
				t.Error("nothing came twice: what is tested?")
			}
		})
	}
}

// companions returns what opens a new companion of each kind, again and again.
func companions(t *testing.T) map[string]func(*testing.T) cloudevents.Companion {
	schema := fmt.Sprint("companion ", schemas.Add(1))
	return map[string]func(*testing.T) cloudevents.Companion{"sqlite": database(t), "postgres": func(t *testing.T) cloudevents.Companion {
		s, err := postgres.Open(t.Context(), db.URL(), postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}}
}

var (
	db      *pgtest.Server
	schemas atomic.Int64
)

func TestMain(m *testing.M) { pgtest.Main(m, &db) }

// TestCompanionSendsInPieces: in the order of the commits, and never to who is replaced.
func TestCompanionSendsInPieces(t *testing.T) {
	for name, companion := range companions(t) {
		t.Run(name, func(t *testing.T) {
			s, scope := companion(t), sink.Scope{Cluster: "c", Resource: sinktest.Resource, Shards: 2}
			other := scope
			other.Shard = 1
			former := fill(t, s, other, 5)
			p := fill(t, s, scope, 1000)
			var got []string
			pieces := 0
			for {
				records, numbers, err := s.Unsent(t.Context(), p, 300_000)
				if err != nil || len(records) != len(numbers) {
					t.Fatalf("%d records, %d numbers, error %v", len(records), len(numbers), err)
				}
				if len(records) == 0 {
					break
				}
				size := 0
				for _, r := range records {
					got, size = append(got, r.ID), size+len(r.Object)
				}
				if size > 400_000 {
					t.Errorf("a piece has %d bytes", size)
				}
				pieces++
				if err := s.Sent(t.Context(), p, "http://a/", numbers[len(numbers)-1]); err != nil {
					t.Fatal(err)
				}
				if err := s.Sent(t.Context(), p, "http://a/", numbers[0]-1); err == nil {
					t.Error("the mark moves backwards")
				}
			}
			var want []string
			for i := range 1000 {
				want = append(want, fmt.Sprint("0 ", i))
			}
			if diff := cmp.Diff(want, got); diff != "" || pieces < 2 {
				t.Errorf("%d pieces (-want +got):\n%s", pieces, diff)
			}
			if err := s.Sent(t.Context(), p, "http://b/", 1<<40); err == nil || errors.Is(err, sink.ErrFenced) {
				t.Errorf("another receiver: error %v", err)
			}
			now, _, err := s.Open(t.Context(), other)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Unsent(t.Context(), former, 1<<20); !errors.Is(err, sink.ErrFenced) {
				t.Errorf("who is replaced reads on: %v", err)
			}
			_, err = s.Address(t.Context(), former, "http://b/")
			if sentErr := s.Sent(t.Context(), former, "http://a/", 1<<40); !errors.Is(err, sink.ErrFenced) || !errors.Is(sentErr, sink.ErrFenced) {
				t.Errorf("who is replaced: errors %v and %v, want ErrFenced", err, sentErr)
			}
			if records, _, err := s.Unsent(t.Context(), now, 1<<20); len(records) != 5 || err != nil {
				t.Errorf("%d records of the other shard, error %v, want 5", len(records), err)
			}
		})
	}
}

// fill opens a scope for the receiver http://a/, and commits so many objects.
func fill(t *testing.T, s cloudevents.Companion, scope sink.Scope, n int) sink.Position {
	t.Helper()
	p, _, err := s.Open(t.Context(), scope)
	if err == nil {
		p, err = s.Address(t.Context(), p, "http://a/")
	}
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 512) // which is not compressed
	var batch []sink.Record
	for i := range n {
		cryptorand.Read(noise)
		id := fmt.Sprint(scope.Shard, " ", i)
		batch = append(batch, sink.Record{ID: id, Type: sink.Added, Cluster: "c", Resource: "configmaps", Shard: scope.Shard, Name: id, UID: id, Revision: "1", Epoch: 1,
			Phase: sink.Live, Time: time.Now(), Object: fmt.Appendf(nil, "%q", hex.EncodeToString(noise))})
	}
	p.Sequence++
	p.Phase, p.Revision, p.Time = sink.Live, "1", time.Now()
	if err := s.Commit(t.Context(), batch, p); err != nil {
		t.Fatal(err)
	}
	return p
}
