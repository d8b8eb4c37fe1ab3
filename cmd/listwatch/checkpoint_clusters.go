package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// identity returns what the checkpoint must be of.
func (s *session) identity() (id checkpoint.Identity, err error) {
	id.Form = s.output.form(s.targets)
	for _, l := range s.late {
		id.Late = append(id.Late, l.Name)
	}
	var servers, uids []string
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		uid := checkpoint.Late
		if !slices.Contains(id.Late, name) {
			uid = s.clusters[name].UID
		}
		servers, uids = append(servers, s.clusters[name].Client.Server()), append(uids, uid)
	}
	id.Server, id.Cluster = strings.Join(servers, " "), strings.Join(uids, " ")
	return s.withStreams(id, s.targets)
}

// identify sets the UID of c: checkpoint.Unread if it may not be read.
func identify(ctx context.Context, c *connect.Cluster) error {
	uid, err := cache.ClusterID(ctx, c.Client)
	switch {
	case err == nil:
		c.UID = uid
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, kube.ErrForbidden), errors.Is(err, kube.ErrNotFound), errors.Is(err, kube.ErrUnauthorized):
		c.UID = checkpoint.Unread
	default:
		return exit.Failed(err) // the next run might know it, and refuse the file
	}
	return nil
}

// withStreams returns id with the streams of ts behind its own.
func (s *session) withStreams(id checkpoint.Identity, ts []target.Target) (checkpoint.Identity, error) {
	id.Streams = slices.Clip(id.Streams)
	for _, t := range ts {
		fields, err := t.FieldSelector(s.flags.selection.FieldsSel)
		if err != nil {
			return id, exit.Usage("%q: %w", t.Name, err)
		}
		id.Streams = append(id.Streams, checkpoint.Stream{
			Cluster:   t.Cluster,
			Resource:  t.Resource.String(),
			Namespace: t.Namespace,
			Names:     slices.Sorted(maps.Keys(t.Names)),
			Labels:    s.flags.selection.Selector.String(),
			Fields:    fields.String(),
			Where:     s.output.where.Texts,
			Without:   s.output.where.Exclude,

			AnyVersion: t.AnyVersion(),
		})
	}
	return id, nil
}

// admit is add for the targets of a late cluster. The checkpoint is the printer's, so that
// it is done there, between two batches.
func (s *session) admit(ctx context.Context, c connect.Cluster, ts []target.Target, records chan<- record.Record) ([]follower, error) {
	var added []follower
	var err error
	done := make(chan struct{})                                 // closed once they are set
	admit := record.Record{Mark: record.MarkSync, Say: func() { // a mark that --debounce does not hold
		defer close(done)
		if ctx.Err() != nil || s.kept.amid {
			return // the run ends
		}
		if err = s.kept.admit(s, c, ts); err != nil {
			return
		}
		for _, t := range ts {
			var f follower
			if f, _, err = s.add(ctx, t, records); err != nil {
				return
			}
			added = append(added, f)
		}
		s.kept.states = nil
	}}
	select {
	case records <- admit:
	case <-ctx.Done():
		return nil, nil
	}
	select {
	case <-done:
		return added, err
	case <-ctx.Done():
		return nil, nil
	}
}

// admit adds the streams of ts, of the cluster c, to the checkpoint.
func (k *keeper) admit(s *session, c connect.Cluster, ts []target.Target) error {
	k.commit = true
	if err := k.done(); err != nil {
		return err
	}
	id, err := s.withStreams(k.id, ts)
	if err != nil {
		return err
	}
	uids := strings.Fields(id.Cluster)
	uids[slices.Index(slices.Sorted(maps.Keys(s.clusters)), c.Name)] = c.UID
	id.Cluster = strings.Join(uids, " ")
	id.Late = slices.DeleteFunc(slices.Clone(id.Late), func(late string) bool { return late == c.Name })
	states, err := k.file.Admit(id)
	switch {
	case errors.Is(err, checkpoint.ErrForeign):
		return foreign(err)
	case err != nil:
		return k.broken(err)
	}
	k.id, k.states = id, states
	return nil
}
