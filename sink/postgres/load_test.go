package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/loading"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// BenchmarkLoad compares a Runner with pgx, which copies the same rows.
func BenchmarkLoad(b *testing.B) {
	conn, err := pgx.Connect(b.Context(), db.URL())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	open := func(b *testing.B) (s *postgres.Sink, schema string) {
		schema = fmt.Sprint("load ", schemas.Add(1))
		s, err := postgres.Open(b.Context(), db.URL(), postgres.Options{Schema: schema})
		if err != nil {
			b.Fatal(err)
		}
		return s, schema
	}
	loading.Benchmark(b, func(b *testing.B) (sink.Sink, func()) {
		s, _ := open(b)
		return s, func() { s.Close() }
	}, func(b *testing.B, batches [][]sink.Record) {
		s, schema := open(b)
		defer s.Close()
		pos, _, err := s.Open(b.Context(), sink.Scope{Cluster: "c", Resource: sinktest.Resource})
		if err != nil {
			b.Fatal(err)
		}
		pos.Sequence++ // a commit makes the partition of the day
		if err := s.Commit(b.Context(), []sink.Record{{ID: "x", Type: sink.Gap, Cluster: "c", Resource: "configmaps", Time: time.Now()}}, pos); err != nil {
			b.Fatal(err)
		}
		for _, batch := range batches {
			if err := copyRows(b.Context(), conn, schema, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// copyRows is what a program would do that keeps no position.
func copyRows(ctx context.Context, conn *pgx.Conn, schema string, batch []sink.Record) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{schema, "history"}, strings.Split("id,type,cluster,api_group,resource,shard,namespace,name,uid,revision,epoch,api_version,kind,time,phase,synthetic,initial,labels,object,trimmed,from_revision,to_revision,reason", ","),
			pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
				r := batch[i]
				return []any{r.ID, string(r.Type), r.Cluster, r.Group, r.Resource, r.Shard, r.Namespace, r.Name, r.UID, string(r.Revision), r.Epoch, r.APIVersion, r.Kind, r.Time,
					string(r.Phase), r.Synthetic, r.Initial, r.Labels, r.Object, r.Trimmed, string(r.From), string(r.To), r.Reason}, nil
			}))
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{schema, "objects"}, strings.Split("cluster,api_group,resource,namespace,name,shard,uid,revision,epoch,api_version,kind,labels,object,phase,trimmed,quarantined,updated", ","),
			pgx.CopyFromSlice(len(batch), func(i int) ([]any, error) {
				r := batch[i]
				return []any{r.Cluster, r.Group, r.Resource, r.Namespace, r.Name, r.Shard, r.UID, string(r.Revision), r.Epoch, r.APIVersion, r.Kind, r.Labels, r.Object, string(r.Phase), r.Trimmed, "", r.Time}, nil
			}))
		return err
	})
}
