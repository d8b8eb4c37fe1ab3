package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/sink"
)

// source is the cluster.
type source struct {
	client *client.Client
	id     string
}

func (p *program) source(ctx context.Context) (*source, error) {
	cfg, err := config.Load(config.Options{Path: p.connect.kubeconfig, Context: p.connect.context, Env: p.env})
	if err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		p.log.Warn(w)
	}
	cfg.Client.UserAgent = "listwatch-sink"
	cfg.Client.Warn = func(text string) { p.log.Warn("warning from the server", "text", text) }
	c, err := client.New(cfg.Client)
	if err != nil {
		return nil, err
	}
	s := &source{c, p.connect.cluster}
	if s.id == "" {
		ns, err := client.Of[kube.Partial](c, kube.Namespaces).Get(ctx, kube.Key{Name: "kube-system"})
		if err != nil {
			return nil, fmt.Errorf("read the UID of the namespace kube-system, which names the cluster (or set --cluster-id): %w", err)
		}
		if s.id = ns.UID; !validUID(s.id) {
			return nil, errors.New("the UID of the namespace kube-system, which names the cluster, does not have 1 to 63 letters, digits and hyphens: set --cluster-id")
		}
	}
	return s, nil
}

// validUID reports whether a UID can name the cluster in what a sink stores. Those of
// kube-apiserver are texts of RFC 4122.
func validUID(uid string) bool {
	const fit = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	return uid != "" && len(uid) <= 63 && strings.IndexFunc(uid, func(r rune) bool { return !strings.ContainsRune(fit, r) }) < 0
}

// resources resolves names as people type them. One without a version selects that of types.
func resources(api *discovery.API, names []string) ([]kube.Resource, error) {
	var all []kube.Resource
	seen := map[string]bool{}
	add := func(r kube.Resource) {
		if id := r.GroupResource(); !seen[id] {
			seen[id] = true
			all = append(all, r)
		}
	}
	for _, name := range names {
		if name == "*" {
			for _, r := range every(api) {
				add(r)
			}
			continue
		}
		found, err := api.Resolve(name)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			if first, ok := moved(api, r.GroupResource()); ok && !versioned(name, r.Resource) {
				r.Resource = first
			} else if err := r.Watchable(); err != nil {
				return nil, err
			}
			if r.Group == "events.k8s.io" {
				r.Resource = kube.Events // the same storage under another name
			}
			add(r.Resource)
		}
	}
	return all, nil
}

func splitNames(args []string) []string {
	var names []string
	for _, arg := range args {
		for name := range strings.SplitSeq(arg, ",") {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// options returns those of a Runner, but for its Sink and Resource.
func (p *program) options(s *source) (sink.Options, error) {
	mode, err := p.mode()
	if err != nil {
		return sink.Options{}, err
	}
	o := sink.Options{
		Client: s.client, Logger: p.log, ShowSecrets: p.selection.showSecrets, MaxObject: p.selection.maxObject,
		BatchRecords: p.batch.records, FlushAfter: p.batch.flush,
		Scope: sink.Scope{
			Cluster: s.id, Namespace: p.selection.namespace, Labels: p.selection.labels, Fields: p.selection.fields,
			Where: p.selection.where, Project: p.selection.project, Mode: mode, Rescope: p.selection.rescope, Shards: p.replicas.shards,
		},
	}
	if o.Where, err = where(p.selection.where); err != nil {
		return o, err
	}
	o.Project, err = project(p.selection.project)
	return o, err
}

// move moves resources into the sink until ctx ends or one of them cannot go on.
func (p *program) move(ctx context.Context, args []string) error {
	if p.replicas.shards < 1 || p.replicas.shard >= p.replicas.shards {
		return usage("--shards %d --shard %d: shards are counted from 0", p.replicas.shards, p.replicas.shard)
	}
	leaseKey, err := p.leaseKey()
	if err != nil {
		return err
	}
	db, err := p.open(ctx, false)
	if err != nil {
		return err
	}
	defer db.Close()
	src, err := p.source(ctx)
	if err != nil {
		return err
	}
	defer src.client.CloseIdleConnections()
	o, err := p.options(src)
	if err != nil {
		return err
	}
	o.Sink = db
	api, err := discovery.Fetch(ctx, src.client)
	if err != nil {
		return err
	}
	names := splitNames(args)
	all := slices.Contains(names, "*")
	named, err := resources(api, slices.DeleteFunc(names, func(name string) bool { return name == "*" }))
	if err != nil {
		return err
	}
	if len(named) > p.maxTypes {
		return usage("%d types are named: the limit is %d", len(named), p.maxTypes)
	}
	board := newBoard(p.log)
	board.start(leaseKey.Name == "")
	stop, err := p.serve(ctx, board)
	if err != nil {
		return err
	}
	defer stop()
	work := func(ctx context.Context, leading func() bool) error {
		o := o
		o.Leading = leading
		f := &fleet{p: p, source: src, options: o, board: board, db: db}
		return f.run(ctx, named, all)
	}
	if leaseKey.Name == "" {
		return work(ctx, nil)
	}
	return p.lead(ctx, src, leaseKey, work)
}

func (p *program) leaseKey() (kube.Key, error) {
	if p.replicas.lease == "" {
		return kube.Key{}, nil
	}
	k, err := kube.ParseKey(p.replicas.lease)
	if err != nil || k.Namespace == "" {
		return k, usage("--lease %q: not NAMESPACE/NAME", p.replicas.lease)
	}
	if p.replicas.shard >= 0 { // each shard has a leader
		k.Name += "-" + strconv.Itoa(p.replicas.shard)
	}
	return k, nil
}

// lead works while this replica holds the Lease, as often as it gets it.
func (p *program) lead(ctx context.Context, src *source, k kube.Key, work func(context.Context, func() bool) error) error {
	for {
		e, err := lease.New(src.client, k, lease.Options{Logger: p.log})
		if err != nil {
			return err
		}
		err = e.Run(ctx, func(ctx context.Context, _ lease.Token) error { return work(ctx, e.IsLeader) })
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, sink.ErrFenced), errors.Is(err, lease.ErrLost):
			p.log.Warn("the leadership ended; waiting for the next", "err", err)
		default:
			return err
		}
	}
}

// prune shortens the history once an hour, in steps that keep nobody waiting for long.
func (p *program) prune(ctx context.Context, db pruner) {
	const step = 1000
	for {
		n, err := db.Prune(ctx, time.Now().Add(-p.history), step)
		if err != nil && ctx.Err() == nil {
			p.log.Warn("old records of the history could not be removed", "err", err)
		}
		pause := time.Hour
		if n == step {
			pause = 100 * time.Millisecond
		}
		if wait.For(ctx, pause) != nil {
			return
		}
	}
}
