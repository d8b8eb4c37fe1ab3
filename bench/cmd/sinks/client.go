package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/file"
	"github.com/listwatch/listwatch/sink/jetstream"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// job is what a client process does.
type job struct {
	Client, Sink  string
	Shard, Shards int
	Server        string
	Postgres      string
	NATS          string
	Dir, Schema   string
}

func (j job) scope() sink.Scope {
	return sink.Scope{Cluster: "c", Resource: kube.ConfigMaps, Shard: j.Shard, Shards: j.Shards}
}

func (j job) open(ctx context.Context) (sink.Sink, error) {
	switch j.Sink {
	case "sqlite":
		return sqlite.Open(ctx, filepath.Join(j.Dir, "cluster.db"), sqlite.Options{})
	case "file":
		return file.Open(filepath.Join(j.Dir, "log"), file.Options{})
	case "postgres":
		return postgres.Open(ctx, j.Postgres, postgres.Options{Schema: j.Schema})
	case "nats":
		conn, err := nats.Connect(j.NATS)
		if err != nil {
			return nil, err
		}
		js, err := natsjs.New(conn)
		if err != nil {
			return nil, err
		}
		return jetstream.Open(ctx, js, jetstream.Options{})
	}
	return nil, fmt.Errorf("no sink %q", j.Sink)
}

// run does the job, and prints the result.
func (j job) run(ctx context.Context) error {
	s, err := j.open(ctx)
	if err != nil {
		return err
	}
	switch j.Client {
	case "ours":
		return j.follow(ctx, newMeter(s), j.runner)
	case "client-go":
		return j.follow(ctx, newMeter(s), j.informer)
	case "runner", "driver":
		return j.load(ctx, s)
	}
	return fmt.Errorf("no client %q", j.Client)
}

// meter passes commits on, and knows when they reach a revision.
type meter struct {
	sink.Sink

	mu      sync.Mutex
	at      kube.Revision
	live    bool
	records int // since live
	moved   chan struct{}
}

func newMeter(s sink.Sink) *meter { return &meter{Sink: s, moved: make(chan struct{})} }

func (m *meter) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	err := m.Sink.Commit(ctx, records, p)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live {
		m.records += len(records)
	}
	m.at, m.live = p.Revision, p.Phase == sink.Live
	close(m.moved)
	m.moved = make(chan struct{})
	return nil
}

// reach waits until the table is complete as of a revision and so many records came. An informer
// of client-go takes the changes of one object together, and so reaches a revision early.
func (m *meter) reach(rev kube.Revision, records int, failed <-chan error) error {
	for {
		m.mu.Lock()
		at, live, moved := m.at, m.live && m.records >= records, m.moved
		m.mu.Unlock()
		if live && !rev.Newer(at) {
			return nil
		}
		select {
		case <-moved:
		case err := <-failed:
			return err
		}
	}
}

// follow runs a client, prints that its table is complete, and that it has committed each
// revision that is read from stdin, and what it took in the end.
func (j job) follow(ctx context.Context, m *meter, run func(context.Context, *meter) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- run(ctx, m) }()
	if err := m.reach("", 0, failed); err != nil {
		return err
	}
	begin, used := time.Now(), probe.ProcessorTime(syscall.RUSAGE_SELF)
	fmt.Println("live")
	for {
		var target string
		var changes int
		if _, err := fmt.Scanln(&target, &changes); err != nil {
			break // the end
		}
		if err := m.reach(kube.Revision(target), changes, failed); err != nil {
			return err
		}
		fmt.Println("reached")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return report(begin, used, m.records)
}

func report(begin time.Time, used int64, records int) error {
	top, err := probe.Peak()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result{
		CPU: float64(probe.ProcessorTime(syscall.RUSAGE_SELF)-used) / 1e9, Wall: time.Since(begin).Seconds(), Peak: top, Records: records})
}

// runner is our client.
func (j job) runner(ctx context.Context, m *meter) error {
	c, err := client.New(client.Config{Server: j.Server, Warn: func(string) {}})
	if err != nil {
		return err
	}
	r, err := sink.NewRunner(sink.Options{Client: c, Sink: m, Scope: j.scope(), BookmarkEvery: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

var errLive = errors.New("the table is complete")

// load measures the first load, or what the driver takes for its batches.
func (j job) load(ctx context.Context, s sink.Sink) error {
	fmt.Println("live") // nothing is to be waited for
	if j.Client == "runner" {
		begin, used := time.Now(), probe.ProcessorTime(syscall.RUSAGE_SELF)
		if err := j.loadInto(ctx, s); err != nil {
			return err
		}
		return report(begin, used, 0)
	}
	kept := &keeper{}
	if err := j.loadInto(ctx, kept); err != nil {
		return err
	}
	write, err := j.driver(ctx, s)
	if err != nil {
		return err
	}
	begin, used := time.Now(), probe.ProcessorTime(syscall.RUSAGE_SELF)
	for _, batch := range kept.batches {
		if err := write(batch); err != nil {
			return err
		}
	}
	return report(begin, used, 0)
}

func (j job) loadInto(ctx context.Context, s sink.Sink) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := newMeter(s)
	failed := make(chan error, 1)
	go func() { failed <- j.runner(ctx, m) }()
	if err := m.reach("", 0, failed); err != nil {
		return err
	}
	cancel(errLive)
	if err := <-failed; !errors.Is(err, errLive) {
		return err
	}
	return nil
}

// keeper is a sink that keeps the batches in memory.
type keeper struct{ batches [][]sink.Record }

func (k *keeper) Open(_ context.Context, s sink.Scope) (sink.Position, sink.Known, error) {
	return sink.Position{Scope: s, Epoch: 1, Generation: 1, Phase: sink.Loading}, nothing, nil
}

func (k *keeper) Commit(_ context.Context, records []sink.Record, _ sink.Position) error {
	k.batches = append(k.batches, slices.Clone(records))
	return nil
}
