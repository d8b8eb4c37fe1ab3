package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// UpToDate marks the current time and returns a function that waits until the store shows
// every write that the server accepted before the mark, from any client. A replica needs
// this before it takes over from another one. A synced store can be behind: its watch has just
// become silent, or it was loaded from a snapshot.
//
// A list that the informer itself requests after the mark is sufficient. Without one, the function
// lists the metadata of the objects. It returns nil when the store holds exactly the listed
// objects, or has reached the revision of the list. A state that could not be decoded counts as
// held. After a pause, the function repeats a list that failed, or is older than the store (the
// server was restored to an earlier state). The role of the client needs the verb list. If ctx ends
// first, the error says what is missing.
//
// An informer that [From] returned knows no server: its function is WaitSynced. Handlers of the
// informer must not call it; see WaitSynced.
func (i *Informer[T]) UpToDate() (wait func(context.Context) error) {
	i.mu.Lock()
	newer := uint32(2) // a list in progress may have been requested earlier
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
		listed := func() bool { return i.store.part(n).listedSince(marks[n]) }
		for pause := time.Second; !listed(); pause = min(2*pause, maxListPause) {
			before := i.store.part(n)
			l, err := list(ctx)
			if err == nil && !before.restored && before.revision.Newer(l.revision) {
				err = fmt.Errorf("a list at revision %s is older than the cache at %s: was the server restored to an earlier state?", l.revision, before.revision)
			}
			if err == nil {
				held := func() (bool, error) { return listed() || i.store.holds(n, l), nil }
				if err := i.wait(ctx, "at revision "+string(l.revision)+", which the server has reached", false, held); err != nil {
					return err
				}
				break
			}
			if ended := wait.For(ctx, pause/2+rand.N(pause)); ended != nil {
				return wait.Explain(ended, fmt.Errorf("%s: not known to be up to date: %w: %w", i.name, ended, err))
			}
		}
	}
	return nil
}

// maxListPause limits the pause after a list that failed.
const maxListPause = 30 * time.Second

// listing is the state of the server at a revision.
type listing struct {
	revision kube.Revision
	objects  int
	missing  map[kube.Key]identity // objects that the store has not held so far
}

type identity struct {
	uid      string
	revision kube.Revision
}

// listings returns, for each namespace, a function that lists the objects of c.
func listings[T kube.Object](c client.Collection[T], namespaces []string, o list.Options) (all []func(context.Context) (*listing, error)) {
	metadata := client.Of[kube.Partial](c.Client, c.Resource).Where(c.Labels, c.Fields)
	metadata.Query = c.Query
	metadata.Accept.List += ",application/json" // where the server does not know that form
	for _, ns := range namespaces {
		all = append(all, func(ctx context.Context) (*listing, error) {
			l := &listing{missing: map[kube.Key]identity{}}
			pages := list.New(metadata.In(ns), o)
			for object, err := range pages.All(ctx) {
				bad := (*codec.ItemError)(nil)
				switch {
				case errors.As(err, &bad): // the store has left it out too
					id := bad.Identity
					l.missing[kube.Key{Namespace: id.Namespace, Name: id.Name}] = identity{id.UID, kube.Revision(id.ResourceVersion)}
				case err != nil:
					return nil, err
				default:
					l.missing[kube.KeyOf(object)] = identity{object.UID, kube.Revision(object.ResourceVersion)}
				}
			}
			l.revision, l.objects = pages.Revision(), len(l.missing)
			return l, nil
		})
	}
	return all
}

// part returns the progress of a source.
func (s *Store[T]) part(source int) part {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.parts[source]
}

// listedSince reports whether the list with number mark, or a later one, has ended.
func (p part) listedSince(mark uint32) bool { return !p.listing && p.generation >= mark }

// holds reports whether a source has passed the revision of l, or has exactly its
// objects. It removes the objects that the store holds from l.missing: their states do
// not change until the source has passed that revision.
func (s *Store[T]) holds(source int, l *listing) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.parts[source]
	if p.listing || p.restored { // p.revision and those of the objects may belong to a lost history
		return false
	}
	if reached(p.revision, l.revision) {
		return true
	}
	for key, listed := range l.missing {
		e, known := s.objects[key]
		held := known && sameUID(e.uid, listed.uid) && e.revision == listed.revision
		if u, unread := s.unread.states[key]; unread {
			held = u.revision == listed.revision || u.revision == ""
		}
		if !held {
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
	for key, u := range s.unread.states {
		if _, known := s.objects[key]; !known && int(u.part) == source {
			held++
		}
	}
	return held == l.objects
}
