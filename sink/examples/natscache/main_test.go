package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/jetstream"
)

func TestCacheFollowsTheTable(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	nc, err := nats.Connect(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jetstream.Open(t.Context(), js, jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
	c := &cache{objects: map[string]sink.Record{}, changed: func(c *cache, _ string, r *sink.Record) {
		switch r.Name {
		case "a":
			commit(sink.Added, "c", 4) // while it follows
		case "c":
			cancel()
		}
	}}
	if err := c.follow(ctx, js, "listwatch", "c", kube.Pods); !errors.Is(err, context.Canceled) {
		t.Fatalf("follow: %v", err)
	}
	got := map[string]kube.Revision{}
	for key, r := range c.objects {
		got[key] = r.Revision
	}
	want := map[string]kube.Revision{"objects.c.-.pods.0.shop.a.uid-a": "1", "objects.c.-.pods.0.shop.c.uid-c": "4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
}
