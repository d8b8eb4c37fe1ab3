package postgres_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// stored returns the table and the history after commits of so many records each.
func stored(t *testing.T, mode sink.Mode, records []sink.Record, batch int) (rows []sink.Row, history []sink.Record) {
	t.Helper()
	s := open(t, fmt.Sprint("stored ", schemas.Add(1)))
	pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource, Mode: mode, Shard: 1, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(records); from += batch {
		pos.Sequence++
		if err := s.Commit(t.Context(), records[from:from+batch], pos); err != nil {
			t.Fatal(err)
		}
	}
	for row, err := range s.Rows(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	for r, err := range s.Records(t.Context(), "c", sinktest.Resource) {
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, r)
	}
	return rows, history
}

// TestLargeBatchIsStoredAsSmallOnes compares all columns of records that are written by
// one statement with those that are written one by one.
func TestLargeBatchIsStoredAsSmallOnes(t *testing.T) {
	const n = 40
	var records []sink.Record
	for round := range 2 { // the second replaces the rows of the first
		for i := range n {
			r := sink.Record{ID: fmt.Sprint(round, "-", i), Type: sink.Added, Cluster: "c", Resource: "configmaps", Shard: 1, Namespace: fmt.Sprint("ns-", i%3), Name: fmt.Sprint("n-", i),
				UID: fmt.Sprint("uid-", i), Revision: kube.Revision(fmt.Sprint(100*round + i)), Epoch: 3, APIVersion: fmt.Sprint("v", i%2), Kind: fmt.Sprint("Kind", i%4), Phase: sink.Loading,
				Time: time.Date(2026, 11, 23, 1, 2, 3, 1000*i, time.UTC), Synthetic: i%2 == 0, Initial: i%3 == 0, Trimmed: i%5 == 0}
			if round == 1 {
				r.Type = sink.Modified
			}
			if i%4 > 0 {
				r.Labels = map[string]string{"app": fmt.Sprintf("\\, \"{%d}é", i), "b": "NULL"}
			}
			if i%5 > 0 {
				r.Object = json.RawMessage(fmt.Sprintf(`{"a": {"b": [%d, null, "{\"NULL\"}"]}}`, i+round))
			}
			records = append(records, r)
		}
	}
	for _, mode := range []sink.Mode{sink.ModeBoth, sink.ModeTable, sink.ModeHistory} {
		rows, history := stored(t, mode, records, 1)
		gotRows, gotHistory := stored(t, mode, records, n)
		if len(rows) != n || mode != sink.ModeTable && len(history) != 2*n {
			t.Fatalf("mode %q: %d rows and %d records one by one", mode, len(rows), len(history))
		}
		for _, row := range rows {
			if row.Quarantined != "" { // then neither would be a large batch
				t.Fatalf("mode %q: %s is quarantined: %s", mode, row.Name, row.Quarantined)
			}
		}
		if diff := cmp.Diff(rows, gotRows); diff != "" {
			t.Errorf("mode %q: table (-one by one +at once):\n%s", mode, diff)
		}
		if diff := cmp.Diff(history, gotHistory); diff != "" {
			t.Errorf("mode %q: history (-one by one +at once):\n%s", mode, diff)
		}
	}
}
