package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/bench/internal/turns"
	"github.com/listwatch/listwatch/kube"
)

// stage is the fake server with its objects.
type stage struct {
	server  *apitest.Server
	objects int
	writes  int
	runs    int
}

// newStage starts a server with objects. It filters by shardSelector if sharded is set.
func newStage(objects int, sharded bool) (*stage, error) {
	srv, err := apitest.Start(apitest.Options{NoManagedFields: true, BookmarkInterval: time.Hour, ShardedListAndWatch: sharded})
	if err != nil {
		return nil, err
	}
	s := &stage{server: srv, objects: objects}
	for i := range objects {
		s.put(i)
	}
	return s, nil
}

func (s *stage) close() { s.server.Close() }

func (s *stage) put(i int) kube.Revision {
	s.writes++
	return s.server.Put(kube.ConfigMaps, map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": fmt.Sprintf("n-%06d", i), "labels": map[string]any{"app": "web"}},
		"data":     map[string]any{"value": strings.Repeat(fmt.Sprintf("%8d", s.writes), 250)},
	})
}

// actor is the process of a run.
type actor struct {
	*turns.Client
	end func()
}

// start starts the process of a job and waits until its table is complete.
func (s *stage) start(ctx context.Context, o options, j job) (*actor, error) {
	dir, err := os.MkdirTemp("", "sinks")
	if err != nil {
		return nil, err
	}
	s.runs++
	j.Server, j.Postgres, j.Dir, j.Schema = s.server.URL, o.Postgres, dir, fmt.Sprintf("bench_%d_%d", os.Getpid(), s.runs)
	a := &actor{end: func() { os.RemoveAll(dir) }}
	if j.Sink == "nats" {
		srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: filepath.Join(dir, "nats"), SyncAlways: true, NoSigs: true, NoLog: true})
		if err != nil {
			return nil, err
		}
		srv.Start()
		if !srv.ReadyForConnections(time.Minute) {
			return nil, errors.New("NATS is not ready")
		}
		j.NATS = srv.ClientURL()
		a.end = func() { srv.Shutdown(); srv.WaitForShutdown(); os.RemoveAll(dir) }
	}
	if a.Client, err = turns.Start(ctx, clientTask, j); err != nil {
		a.end()
		return nil, err
	}
	if line, err := a.Out.ReadString('\n'); err != nil || line != "live\n" {
		a.finish()
		return nil, fmt.Errorf("%q: %w", line, errShort)
	}
	return a, nil
}

// lead is how many changes of a shard the server is ahead of its process at most: it forgets
// old ones.
const lead = 2000

// reach waits until the process has committed a revision, and so many changes.
func (a *actor) reach(rev kube.Revision, changes int) error {
	fmt.Fprintln(a.In, rev, changes)
	if line, err := a.Out.ReadString('\n'); err != nil || line != "reached\n" {
		return fmt.Errorf("%q: %w", line, errShort)
	}
	return nil
}

// finish lets the process end, and returns what it prints.
func (a *actor) finish() (r result, err error) {
	defer a.end()
	a.In.Close()
	err = json.NewDecoder(a.Out).Decode(&r)
	return r, errors.Join(err, a.Wait())
}

// play starts a process, changes objects, and returns what the process took.
func (s *stage) play(ctx context.Context, o options, j job) (result, error) {
	a, err := s.start(ctx, o, j)
	if err != nil {
		return result{}, err
	}
	done := make(chan struct{})
	defer close(done)
	go func() { // a shard has the last change as a bookmark only
		for {
			s.server.Bookmark()
			select {
			case <-done:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	for i := range o.Changes {
		s.put(i * 7 % s.objects)
		n := i + 1
		if n%(lead*j.Shards) != 0 && n != o.Changes {
			continue
		}
		if j.Shards > 1 {
			n = 0 // how many are of this shard is not known
		}
		if err := a.reach(s.server.Revision(), n); err != nil {
			a.finish()
			return result{}, err
		}
	}
	return a.finish()
}

// shards plays the same for each of n shards, one after the other, and returns what the
// busiest took.
func (s *stage) shards(ctx context.Context, o options, n int) (busiest result, err error) {
	records := 0
	for shard := range n {
		r, err := s.play(ctx, o, job{Client: "ours", Sink: "nats", Shard: shard, Shards: n})
		if err != nil {
			return result{}, err
		}
		records += r.Records
		if r.CPU > busiest.CPU {
			busiest = r
		}
	}
	return busiest, counted(records, o.Changes)
}

// counted fails unless each change was committed once.
func counted(records, changes int) error {
	if records != changes {
		return fmt.Errorf("%d records, want %d", records, changes)
	}
	return nil
}
