package postgres_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/pgtest"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

var (
	soakRounds = flag.Int("soak.rounds", 40, "rounds of the soak")
	soakSeed   = flag.Uint64("soak.seed", 1, "seed of the soak")
)

var db *pgtest.Server

func TestMain(m *testing.M) { pgtest.Main(m, &db) }

var schemas atomic.Int64

// store is a schema of its own.
func store(*testing.T) sinktest.Store {
	schema := fmt.Sprint("store ", schemas.Add(1))
	return sinktest.Store{Connect: func(t *testing.T) sinktest.Sink { return open(t, schema) }}
}

func open(t *testing.T, schema string) *postgres.Sink {
	t.Helper()
	s, err := postgres.Open(t.Context(), db.URL(), postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSink(t *testing.T) { sinktest.Test(t, store) }

// TestSoak kills the database, too.
func TestSoak(t *testing.T) {
	sinktest.Soak(t, store(t), sinktest.SoakOptions{Seed: *soakSeed, Rounds: *soakRounds, Calamity: func() {
		db.Stop(syscall.SIGKILL)
		if err := db.Start(); err != nil {
			t.Fatal(err)
		}
	}})
}

func TestPruneKeepsGaps(t *testing.T) {
	s := open(t, fmt.Sprint("prune ", schemas.Add(1)))
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
	pos, _, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	rec := func(id string, typ sink.Type, at time.Time) sink.Record {
		return sink.Record{ID: id, Type: typ, Cluster: "c", Resource: "configmaps", Name: id, UID: id, Revision: "1", Time: at}
	}
	pos.Sequence++
	err = s.Commit(t.Context(), []sink.Record{rec("a", sink.Added, old), rec("gap", sink.Gap, old), rec("b", sink.Added, old.AddDate(0, 0, 2))}, pos)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(t.Context(), old.AddDate(0, 0, 1), 10); n != 1 || err != nil {
		t.Errorf("%d partitions dropped, error %v, want 1", n, err)
	}
	var names []string
	for r, err := range s.Records(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.ID)
	}
	gaps, err := s.Gaps(t.Context(), "c", sinktest.Resource)
	if strings.Join(names, " ") != "b" || len(gaps) != 1 || err != nil {
		t.Errorf("history %v, %d gaps, error %v; want b and the gap", names, len(gaps), err)
	}
}

// TestPartitionOfTodayIsMadeAgain after a replica whose clock is ahead has removed it.
func TestPartitionOfTodayIsMadeAgain(t *testing.T) {
	schema := fmt.Sprint("clock ", schemas.Add(1))
	s, ahead := open(t, schema), open(t, schema)
	pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	for _, name := range []string{"a", "b"} {
		pos.Sequence++
		rec := sink.Record{ID: name, Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: name, UID: name, Revision: "1", Time: now}
		if err := s.Commit(t.Context(), []sink.Record{rec}, pos); err != nil {
			t.Fatal(err)
		}
		if n, err := ahead.Prune(t.Context(), now.AddDate(0, 0, 31), 10); n != 1 || err != nil {
			t.Fatalf("%d partitions dropped, error %v, want 1", n, err)
		}
	}
}

// TestLargeBatch is written by one statement, in the order of its records;
// an object in it that jsonb refuses is stored beside the others.
func TestLargeBatch(t *testing.T) {
	for _, mode := range []sink.Mode{sink.ModeBoth, sink.ModeTable, sink.ModeHistory} {
		s := open(t, fmt.Sprint("large ", schemas.Add(1)))
		pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		var batch []sink.Record
		for i := range 100 {
			id := fmt.Sprint("n-", (i*37)%100)
			batch = append(batch, sink.Record{ID: id, Type: sink.Added, Cluster: "c", Resource: "configmaps", Namespace: "d", Name: id, UID: id, Revision: kube.Revision(fmt.Sprint(i + 1)),
				APIVersion: "v1", Kind: "ConfigMap", Phase: sink.Loading, Epoch: 1, Time: time.Now(), Object: json.RawMessage(fmt.Sprintf(`{"a":%d}`, i))})
		}
		for round, text := range []string{`{"a":1}`, `{"a":"\u0000"}`} {
			batch[7].Object = json.RawMessage(text)
			for i := range batch {
				batch[i].ID = fmt.Sprint(round, " ", batch[i].UID)
			}
			pos.Sequence++
			if err := s.Commit(t.Context(), batch, pos); err != nil {
				t.Fatal(err)
			}
			rows, quarantined := 0, 0
			for row, err := range s.Rows(t.Context(), "c", sinktest.Resource) {
				if err != nil {
					t.Fatal(err)
				}
				rows++
				if row.Quarantined != "" {
					quarantined++
				} else if (len(row.Object) == 0) != (mode == sink.ModeHistory) {
					t.Errorf("mode %q: %s has the object %q", mode, row.Name, row.Object)
				}
			}
			if rows != len(batch) || quarantined != round {
				t.Errorf("mode %q, round %d: %d rows, %d quarantined", mode, round, rows, quarantined)
			}
		}
		var got, want []string
		for _, r := range batch {
			want = append(want, "0 "+r.UID)
		}
		for r, err := range s.Records(t.Context(), "c", sinktest.Resource) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, r.ID); len(got) == len(want) {
				break
			}
		}
		if mode == sink.ModeTable {
			want = []string{"1 " + batch[7].UID}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("mode %q: history (-want +got):\n%s", mode, diff)
		}
	}
}

func TestErrorsDoNotShowThePassword(t *testing.T) {
	for _, url := range []string{"postgres://user:hunter2@127.0.0.1:1/db", "postgres://user:hunter2@[/db", "host=/nowhere password=hunter2 user=u"} {
		_, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error %v", err)
		}
	}
}
