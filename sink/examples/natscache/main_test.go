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
	js, s := table(t)
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
	c := &cache{objects: map[string]sink.Record{}, positions: map[string]position{}, changed: func(c *cache, _ string, r *sink.Record) {
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

// resharding is no phase: the position is of a table that is being divided.
const resharding sink.Phase = "resharding"

// TestCacheIsLiveWithAllShards, whichever of them is behind.
func TestCacheIsLiveWithAllShards(t *testing.T) {
	js, s := table(t)
	var at [2]sink.Position
	move := func(shard int, phase sink.Phase) {
		t.Helper()
		p := &at[shard]
		p.Sequence++
		p.Phase, p.Revision, p.Control = phase, kube.Revision(fmt.Sprint(p.Sequence)), ""
		if phase == resharding {
			p.Phase, p.Control = sink.Live, sink.Resharding
		}
		name := fmt.Sprint(shard, "-", p.Sequence)
		r := sink.Record{ID: name, Type: sink.Added, Cluster: "c", Resource: "pods", Shard: shard, Namespace: "shop", Name: name, UID: "uid-" + name, Revision: p.Revision, Epoch: 1}
		if err := s.Commit(t.Context(), []sink.Record{r}, *p); err != nil {
			t.Fatal(err)
		}
	}
	for i := range at {
		var err error
		if at[i], _, err = s.Open(t.Context(), sink.Scope{Cluster: "c", Resource: kube.Pods, Shard: i, Shards: 2}); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		shard int
		phase sink.Phase
		live  bool // afterwards
	}{{0, sink.Live, false}, {1, sink.Loading, false}, {1, sink.Live, true}, {0, sink.Loading, false}, {1, sink.Live, false}, {0, sink.Live, true}, {1, resharding, false}, {1, sink.Live, true}, {0, sink.Live, true}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got, want []bool
	c := &cache{objects: map[string]sink.Record{}, positions: map[string]position{}, changed: func(c *cache, _ string, _ *sink.Record) {
		got = append(got, c.live()) // after the step before
		if len(got) == len(steps) {
			cancel()
			return
		}
		move(steps[len(got)].shard, steps[len(got)].phase)
	}}
	move(steps[0].shard, steps[0].phase)
	if err := c.follow(ctx, js, "listwatch", "c", kube.Pods); !errors.Is(err, context.Canceled) {
		t.Fatalf("follow: %v", err)
	}
	want = append(want, false)
	for _, step := range steps[:len(steps)-1] {
		want = append(want, step.live)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
}

// table starts a server with the table of a sink.
func table(t *testing.T) (natsjs.JetStream, *jetstream.Sink) {
	t.Helper()
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
	return js, s
}
