package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// UpToDate marks the present and returns a function that waits until the store shows
// every write that the server took before that, whoever sent it: what a replica needs
// that begins to act in place of another one. A store can be synced and late: its watch
// may have become silent just now, or it comes from a snapshot.
//
// A list that the informer requests after the mark proves it. Otherwise the function
// lists the metadata of the objects, and returns nil when the store holds exactly these
// or has passed the revision of the list. An object that could not be decoded counts as
// held. It lists again, after a pause, while that fails, so that the role of a
// controller needs the verb list. If ctx ends first, the error says what is missing.
//
// An informer that [From] made has no server to ask: there the function is WaitSynced.
// Handlers of the informer must not wait for it, as WaitSynced says.
func (i *Informer[T]) UpToDate() (wait func(context.Context) error) {
	i.mu.Lock()
	newer := uint32(2) // the list under way may have been requested before
	if i.started.IsZero() {
		newer = 1
	}
	i.mu.Unlock()
	marks := i.store.generations()
	for n := range marks {
		marks[n] += newer
	}
	return func(ctx context.Context) error { return i.catchUp(ctx, marks) }
}

func (i *Informer[T]) catchUp(ctx context.Context, marks []uint32) error {
	if err := i.WaitSynced(ctx); err != nil {
		return err
	}
	for n, list := range i.listings {
		for pause := time.Second; !i.store.listedSince(n, marks[n]); pause = min(2*pause, maxListPause) {
			l, err := list(ctx)
			if err == nil {
				err = i.wait(ctx, "at revision "+string(l.revision)+", which the server has reached", func() (bool, error) {
					return i.store.listedSince(n, marks[n]) || i.store.holds(n, l), nil
				})
				if err != nil {
					return err
				}
				break
			}
			select {
			case <-time.After(pause/2 + rand.N(pause)):
			case <-ctx.Done():
				return fmt.Errorf("%s: not known to be up to date: %w: %w", i.name, context.Cause(ctx), err)
			}
		}
	}
	return nil
}

// maxListPause bounds the pause between two lists of which the first failed.
const maxListPause = 30 * time.Second

// listing is what a server holds at a revision.
type listing struct {
	revision kube.Revision
	objects  int
	missing  map[kube.Key]identity // those of them that the store was not seen to hold
}

type identity struct {
	uid      string
	revision kube.Revision
}

// listings returns the functions that list what c has in each namespace, as far as o
// selects it.
func listings[T kube.Object](c client.Collection[T], namespaces []string, o list.Options) (all []func(context.Context) (*listing, error)) {
	metadata := client.Of[kube.Partial](c.Client, c.Resource)
	metadata.Query = c.Query
	for _, ns := range namespaces {
		all = append(all, func(ctx context.Context) (*listing, error) {
			l := &listing{missing: map[kube.Key]identity{}}
			pages := list.New(metadata.In(ns), o)
			for object, err := range pages.All(ctx) {
				if err != nil && !codec.IsItem(err) {
					return nil, err
				}
				l.missing[kube.KeyOf(object)] = identity{object.UID, kube.Revision(object.ResourceVersion)}
			}
			l.revision, l.objects = pages.Revision(), len(l.missing)
			return l, nil
		})
	}
	return all
}

// listedSince reports whether a listing of a source has ended, the mark-th or a later one.
func (s *Store[T]) listedSince(source int, mark uint32) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.parts[source]
	return !p.listing && p.generation >= mark
}

// holds reports whether a source has passed the revision of l, or has exactly its
// objects. It removes from l.missing what the store holds: until the source has passed
// that revision, the states of those objects do not change.
func (s *Store[T]) holds(source int, l *listing) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.parts[source]
	if p.listing || p.restored {
		return false
	}
	if reached(p.revision, l.revision) {
		return true
	}
	for key, listed := range l.missing {
		e, known := s.objects[key]
		if _, unread := s.unread[key]; !unread && (!known || !sameUID(e.uid, listed.uid) || e.revision != listed.revision) {
			return false
		}
		delete(l.missing, key)
	}
	held := 0
	for _, e := range s.objects {
		if int(e.part) == source {
			held++
		}
	}
	for key, m := range s.unread {
		if _, known := s.objects[key]; !known && int(m.part) == source {
			held++
		}
	}
	return held == l.objects
}
