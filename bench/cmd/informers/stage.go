package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/bench/internal/turns"
	"github.com/listwatch/listwatch/kube"
)

// stage is the fake server with its objects.
type stage struct {
	options
	server *apitest.Server
	dir    string
}

func newStage(o options) (*stage, error) {
	srv, err := apitest.Start(apitest.Options{NoManagedFields: true, TLS: true})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "informers")
	if err != nil {
		srv.Close()
		return nil, err
	}
	s := &stage{options: o, server: srv, dir: dir}
	for i := range o.Objects {
		s.put(i, "")
	}
	return s, os.WriteFile(s.authority(), srv.CAPEM(), 0o600)
}

func (s *stage) authority() string { return filepath.Join(s.dir, "ca.pem") }

func (s *stage) close() {
	s.server.Close()
	os.RemoveAll(s.dir)
}

func (s *stage) put(i int, at string) {
	s.server.Put(kube.ConfigMaps, map[string]any{
		"metadata": map[string]any{"namespace": namespace(i % s.Informers), "name": fmt.Sprintf("n-%06d", i), "labels": map[string]any{"app": "web"}},
		"data":     map[string]any{"value": strings.Repeat(fmt.Sprintf("%8d", i), 125), "at": at},
	})
}

func namespace(i int) string { return fmt.Sprintf("team-%03d", i) }

// outcome is what a client read of itself in a run.
type outcome struct{ Synced, Idle, Busy reading }

// play runs a client: it syncs, rests, and gets the changes.
func (s *stage) play(ctx context.Context, j job) (r outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	j.Server, j.CA, j.Objects, j.Namespaces = s.server.URL, s.authority(), s.Objects, s.options.Informers
	client, err := turns.Start(ctx, clientTask, j)
	if err != nil {
		return r, err
	}
	answers := json.NewDecoder(client.Out)
	steps := func() error {
		if err := answers.Decode(&r.Synced); err != nil {
			return fmt.Errorf("it does not sync: %w", err)
		}
		if j.Reads == "" {
			time.Sleep(s.Idle)
		}
		fmt.Fprintln(client.In, 0)
		if err := answers.Decode(&r.Idle); err != nil {
			return fmt.Errorf("it does not rest: %w", err)
		}
		s.change()
		fmt.Fprintln(client.In, s.Changes)
		if err := answers.Decode(&r.Busy); err != nil {
			return fmt.Errorf("it does not get %d changes: %w", s.Changes, err)
		}
		return nil
	}
	if err = steps(); err != nil {
		cancel()
	}
	client.In.Close()
	if ended := client.Wait(); err == nil {
		err = ended
	}
	return r, err
}

// change writes the changes at their rate. Each has its time.
func (s *stage) change() {
	begin := time.Now()
	for k := range s.Changes {
		time.Sleep(time.Until(begin.Add(time.Duration(k) * time.Second / time.Duration(s.Rate))))
		s.put(k, strconv.FormatInt(time.Now().UnixNano(), 10))
	}
}
