package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// TestLongReaderHoldsNothingUp has a transaction that has read the history and stays open, as
// a backup or a report does. A new day begins, and old days are removed: commits go on.
func TestLongReaderHoldsNothingUp(t *testing.T) {
	schema := fmt.Sprint("reader ", schemas.Add(1))
	s := open(t, schema)
	pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(id string, at time.Time) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		pos.Sequence++
		if err := s.Commit(ctx, []sink.Record{{ID: id, Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: id, UID: id, Revision: "1", Time: at}}, pos); err != nil {
			t.Fatalf("commit %s: %v", id, err)
		}
	}
	day := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	commit("first", day)
	c, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	reader, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Exec(t.Context(), `SELECT count(*) FROM `+pgx.Identifier{schema, "history"}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	commit("next day", day.AddDate(0, 0, 1))

	pruned := make(chan error, 1)
	go func() { _, err := s.Prune(t.Context(), day.AddDate(0, 0, 1), 10); pruned <- err }()
	for i := range 20 { // during which Prune waits for the reader, and gives up
		commit(fmt.Sprint("while it is pruned ", i), day.AddDate(0, 0, 1))
		<-time.After(20 * time.Millisecond)
	}
	if err := <-pruned; err == nil {
		t.Error("a partition was dropped that is being read")
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(t.Context(), day.AddDate(0, 0, 1), 10); n != 1 || err != nil {
		t.Errorf("%d partitions dropped, error %v, want 1", n, err)
	}
}
