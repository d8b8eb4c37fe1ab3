package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// WaitSynced waits until everything that existed at the beginning is in the
// store and every handler that was there has been told. If ctx ends first, the
// error says what it waited for: forbidden, not found, no connection. It fails at
// once when the informer has ended. Handlers of the informer must not wait for it.
func (i *Informer[T]) WaitSynced(ctx context.Context) error {
	return i.wait(ctx, "synced", func() (bool, error) { return i.store.Synced(), nil })
}

// WaitRevision waits until the store is at rev or later: with the
// resourceVersion that a write returned, the store then shows that write. With
// several namespaces all of them must get there, which may take until the next
// bookmark, about a minute. Where revisions cannot be ordered it fails.
func (i *Informer[T]) WaitRevision(ctx context.Context, rev kube.Revision) error {
	if !rev.Ordered() {
		return fmt.Errorf("wait for revision %.40q: it is not a number and cannot be ordered", rev)
	}
	return i.wait(ctx, "at revision "+string(rev), func() (bool, error) {
		at := i.store.Revision()
		if at == "" {
			return false, nil
		}
		c, err := at.Compare(rev)
		return err == nil && c >= 0, err
	})
}

func (i *Informer[T]) wait(ctx context.Context, what string, done func() (bool, error)) error {
	for {
		i.mu.Lock()
		if i.watched == nil {
			i.watched = make(chan struct{})
		}
		changed, ended := i.watched, i.ended
		i.mu.Unlock()
		if !i.begin(ctx) { // with the turn, handlers have returned
			return i.notYet(what, context.Cause(ctx))
		}
		ok, err := done()
		i.finish()
		if ok || err != nil {
			return err
		}
		if ended != nil {
			return i.notYet(what, fmt.Errorf("the informer ended: %w", ended))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return i.notYet(what, context.Cause(ctx))
		}
	}
}

func (i *Informer[T]) notYet(what string, why error) error {
	if p := i.Status().Err; p != nil {
		return fmt.Errorf("not %s: %w; the last problem: %w", what, why, p)
	}
	return fmt.Errorf("not %s: %w", what, why)
}

// progress wakes whoever waits.
func (i *Informer[T]) progress() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.watched != nil {
		close(i.watched)
		i.watched = nil
	}
}

// Status is how an informer is.
type Status struct {
	Synced   bool
	Objects  int
	Revision kube.Revision

	// Bytes is how much memory the objects take, as counted for the budget; 0
	// where there is none.
	Bytes int64

	// Lag is how long the event that handlers are busy with has been in the
	// process: what the server has sent since waits behind it. 0 = none does.
	Lag time.Duration

	// LastContact is when the server was last heard from, by the source that
	// heard last the longest ago; zero where a source has not, or cannot tell.
	// A healthy server is heard from about every minute.
	LastContact time.Time

	// Err is what troubles a source now, or the last object that could not be
	// read; nil = all is well.
	Err error
}

// Status returns how the informer is.
func (i *Informer[T]) Status() Status {
	s := Status{Synced: i.store.Synced(), Objects: i.store.Len(), Revision: i.store.Revision()}
	if i.account != nil {
		s.Bytes = i.account.held.Load()
	}
	for n := range i.inHand {
		if since := i.inHand[n].Load(); since != 0 {
			s.Lag = max(s.Lag, time.Since(time.Unix(0, since)))
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for n, src := range i.sources {
		var at time.Time
		if w, ok := src.(interface{ LastContact() time.Time }); ok {
			at = w.LastContact()
		}
		if n == 0 || at.Before(s.LastContact) {
			s.LastContact = at
		}
	}
	s.Err = errors.Join(i.problems...)
	return s
}
