package main

import (
	"context"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// While every type is watched, the server is asked for new ones soon after a definition
// has changed, then at growing intervals.
const (
	exploreSoon  = 250 * time.Millisecond
	exploreEvery = time.Minute
)

// definesTypes reports whether r is about what defines types, which may be newer than what
// discovery has returned.
func definesTypes(r *record.Record) bool {
	switch r.Resource.GroupResource() {
	case kube.CustomResourceDefinitions.GroupResource(), "apiservices.apiregistration.k8s.io":
		return r.IsObject()
	}
	return false
}

// explore follows the types that appear, until ctx is done.
func (s *session) explore(ctx context.Context, records chan<- record.Record, begin func(follower)) error {
	wait := exploreEvery
	for {
		select {
		case <-ctx.Done():
			return nil // the streams say why
		case <-s.changed:
			wait = exploreSoon
			continue
		case <-time.After(wait):
		}
		wait = min(2*wait, exploreEvery)
		ts, err := s.discover(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.talk.Each("types", "new types cannot be requested: "+err.Error(), "not discovered", "err", printable.Line(err.Error()))
			}
			// other clusters have answered
		}
		for _, t := range ts {
			f, isNew, err := s.add(ctx, t, records)
			if err != nil {
				return err
			}
			if !isNew {
				f.wake()
				continue
			}
			s.talk.Info(t.Label(), "a new type, which is watched from now on", "new type", "apiVersion", t.Resource.APIVersion())
			begin(f)
		}
	}
}
