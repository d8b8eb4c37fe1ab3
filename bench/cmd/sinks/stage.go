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

func newStage(objects int) (*stage, error) {
	srv, err := apitest.Start(apitest.Options{NoManagedFields: true, BookmarkInterval: time.Hour})
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

// cast are the processes of a run.
type cast struct {
	all []*turns.Client
	err error
	end func()
}

// start starts a process for each shard and waits until their tables are complete.
func (s *stage) start(ctx context.Context, o options, j job) (*cast, error) {
	dir, err := os.MkdirTemp("", "sinks")
	if err != nil {
		return nil, err
	}
	s.runs++
	j.Server, j.Postgres, j.Dir, j.Schema = s.server.URL, o.Postgres, dir, fmt.Sprintf("bench_%d_%d", os.Getpid(), s.runs)
	c := &cast{end: func() { os.RemoveAll(dir) }}
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
		c.end = func() { srv.Shutdown(); srv.WaitForShutdown(); os.RemoveAll(dir) }
	}
	for j.Shard = range j.Shards {
		a, err := turns.Start(ctx, clientTask, j)
		if err != nil {
			c.end()
			return nil, err
		}
		c.all = append(c.all, a)
	}
	for _, a := range c.all {
		if line, err := a.Out.ReadString('\n'); err != nil || line != "live\n" {
			c.finish()
			return nil, fmt.Errorf("%q: %w", line, errShort)
		}
	}
	return c, nil
}

// lead is how many changes the server is ahead of a process at most: it forgets old ones.
const lead = 2000

// reach waits until all processes have committed a revision, and one of them alone so many
// changes.
func (c *cast) reach(rev kube.Revision, changes int) error {
	for _, a := range c.all {
		if len(c.all) > 1 {
			changes = 0
		}
		fmt.Fprintln(a.In, rev, changes)
	}
	for _, a := range c.all {
		if line, err := a.Out.ReadString('\n'); err != nil || line != "reached\n" {
			return fmt.Errorf("%q: %w", line, errShort)
		}
	}
	return nil
}

// finish lets the processes end, and returns what they print.
func (c *cast) finish() []result {
	defer c.end()
	var all []result
	for _, a := range c.all {
		a.In.Close()
		var r result
		err := json.NewDecoder(a.Out).Decode(&r)
		c.err = errors.Join(c.err, err, a.Wait())
		all = append(all, r)
	}
	return all
}

// play starts processes, changes objects, and returns what the processes took.
func (s *stage) play(ctx context.Context, o options, j job) ([]result, error) {
	c, err := s.start(ctx, o, j)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	defer close(done)
	go func() { // a shard has the last change as a bookmark only
		for {
			s.server.Bookmark()
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	for i := range o.Changes {
		s.put(i * 7 % s.objects)
		if n := i + 1; n%(lead*j.Shards) == 0 || n == o.Changes {
			if err := c.reach(s.server.Revision(), n); err != nil {
				c.finish()
				return nil, err
			}
		}
	}
	all := c.finish()
	records := 0
	for _, r := range all {
		records += r.Records
	}
	if c.err == nil && records != o.Changes {
		c.err = fmt.Errorf("%d records, want %d", records, o.Changes)
	}
	return all, c.err
}
