package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// TestHistoryIsFollowedByShard reads the history while shards commit at once, as docs/sinks.md
// says: a position in seq for each resource and shard. One for all of them would pass over the
// records of a commit that ends later than one with higher numbers.
func TestHistoryIsFollowedByShard(t *testing.T) {
	const shards, commits, records = 4, 50, 5
	schema := fmt.Sprint("follow ", schemas.Add(1))
	s := open(t, schema)
	written := make(chan error, shards)
	for shard := range shards {
		go func() {
			pos, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.ConfigMaps, Shard: shard, Shards: shards})
			for i := 0; i < commits && err == nil; i++ {
				var batch []sink.Record
				for j := range records {
					id := fmt.Sprintf("%d-%d-%d", shard, i, j)
					batch = append(batch, sink.Record{ID: id, Type: sink.Added, Cluster: "c", Resource: "configmaps", Shard: shard, Name: id, UID: id, Revision: "1", Time: time.Now()})
				}
				pos.Sequence++
				err = s.Commit(t.Context(), batch, pos)
			}
			written <- err
		}()
	}
	c, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	history := pgx.Identifier{schema, "history"}.Sanitize()
	var last [shards]int64
	n := 0
	follow := func() {
		for shard := range shards {
			rows, err := c.Query(t.Context(), `SELECT seq FROM `+history+` WHERE seq > $1 AND cluster = 'c' AND api_group = '' AND resource = 'configmaps' AND shard = $2 ORDER BY seq LIMIT 7`, last[shard], shard)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				if err := rows.Scan(&last[shard]); err != nil {
					t.Fatal(err)
				}
				n++
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for range shards {
			if err := <-written; err != nil {
				t.Error(err)
			}
		}
	})
	all := make(chan struct{})
	go func() { ended.Wait(); close(all) }()
	for done := false; !done; {
		select {
		case <-all:
			done = true
		default:
		}
		for before := -1; before != n; {
			before = n
			follow()
		}
	}
	if n != shards*commits*records {
		t.Errorf("%d records, want %d", n, shards*commits*records)
	}
}
