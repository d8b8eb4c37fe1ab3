package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/kafka"
)

func TestTableIsRebuilt(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	brokers := kgo.SeedBrokers(cluster.ListenAddrs()...)
	s, err := kafka.Open(t.Context(), kafka.Options{}, brokers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	p, _, err := s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.Pods})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(typ sink.Type, name string, rev int) {
		t.Helper()
		p.Sequence++
		p.Phase, p.Revision = sink.Live, kube.Revision(fmt.Sprint(rev))
		r := sink.Record{ID: fmt.Sprint(rev), Type: typ, Cluster: "c", Resource: "pods", Namespace: "shop", Name: name, UID: "uid-" + name, Revision: p.Revision, Epoch: 1}
		if err := s.Commit(t.Context(), []sink.Record{r}, p); err != nil {
			t.Fatal(err)
		}
	}
	commit(sink.Added, "a", 1)
	commit(sink.Added, "b", 2)
	commit(sink.Deleted, "b", 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	table := &table{resource: "pods", rows: map[string]sink.Record{}, changed: func(_ *table, k kafka.ObjectKey) {
		switch k.Key.Name {
		case "a":
			commit(sink.Added, "c", 4) // while it follows
		case "c":
			cancel()
		}
	}}
	if err := table.follow(ctx, "listwatch", brokers); !errors.Is(err, context.Canceled) {
		t.Fatalf("follow: %v", err)
	}
	got := map[string]kube.Revision{}
	for key, r := range table.rows {
		got[key] = r.Revision
	}
	want := map[string]kube.Revision{"c//pods/0/shop/a/uid-a": "1", "c//pods/0/shop/c/uid-c": "4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
