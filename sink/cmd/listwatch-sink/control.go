package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/sink"
)

// control does something to the scopes that the sink holds: of the types that are named, or
// all. It needs no cluster.
func (p *program) control(ctx context.Context, args []string, done string, do func(context.Context, sink.Sink, sink.Scope) error) error {
	db, err := p.open(ctx, true)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := p.held(ctx, db, args)
	if err != nil {
		return err
	}
	for _, pos := range all {
		if err := do(ctx, db, pos.Scope); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s: %s\n", pos.Scope, done)
	}
	return nil
}

// reshard divides the tables that the sink holds, of the types that are named or of all, into
// another number of shards. It needs no cluster.
func (p *program) reshard(ctx context.Context, args []string) error {
	if !p.replicas.given || p.replicas.shards < 1 || p.replicas.shard >= 0 {
		return usage("reshard needs --shards N, the number of shards from now on, and no --shard")
	}
	db, err := p.open(ctx, true)
	if err != nil {
		return err
	}
	defer db.Close()
	r, ok := db.(sink.Resharder)
	if !ok {
		return errors.New("the number of shards cannot be changed in this sink: only in sqlite, postgres, nats and kafka")
	}
	all, err := p.held(ctx, db, args)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, pos := range all {
		s := pos.Scope
		if id := s.Cluster + " " + s.Resource.GroupResource(); done[id] {
			continue
		} else if done[id] = true; s.Count() != p.replicas.shards || pos.Control.Unfinished() {
			if err := r.Reshard(ctx, s.Cluster, s.Resource, p.replicas.shards); err != nil {
				return err
			}
		}
		fmt.Fprintf(p.stdout, "%s: has %s\n", s.Resource.GroupResource(), printable.Count(p.replicas.shards, "shard"))
	}
	return nil
}

// held returns the positions that the sink holds of the types that are named, or of all; with
// --cluster-id of this cluster.
func (p *program) held(ctx context.Context, db sink.Reader, args []string) (all []sink.Position, err error) {
	positions, err := db.Positions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the positions: %w", err)
	}
	named := map[string]bool{} // whether there is one
	for _, name := range splitNames(args) {
		named[name] = false
	}
	for _, pos := range positions {
		s := pos.Scope
		if p.connect.cluster != "" && s.Cluster != p.connect.cluster {
			continue
		}
		wanted := len(named) == 0
		for _, name := range []string{s.Resource.Plural, s.Resource.GroupResource()} {
			if _, ok := named[name]; ok {
				wanted, named[name] = true, true
			}
		}
		if wanted {
			all = append(all, pos)
		}
	}
	for name, found := range named {
		if !found {
			return nil, fmt.Errorf("the sink holds no %s: status shows what it holds", name)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the sink holds nothing")
	}
	return all, nil
}
