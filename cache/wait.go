package cache

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/listwatch/listwatch/cache/internal/health"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// WaitSynced waits until all initial objects are in the store and every handler has handled them.
// It fails at once when the informer has ended. If ctx ends first, the error says why: Run was not
// called ([ErrNotRunning]), the server refuses the requests or cannot be reached, or which handler
// is busy and since when. Handlers must not call it on their own informer: the call would wait
// until ctx ends. The error then names the handler if the wait took a second or more.
func (i *Informer[T]) WaitSynced(ctx context.Context) error {
	return i.wait(ctx, "synced", true, func() (bool, error) { return i.store.Synced(), nil })
}

// WaitRevision waits until the store is at rev or later. If rev is the resourceVersion
// that a write returned, the store then shows that write. With several namespaces all of
// them must reach it, which may take until the next bookmark, about a minute. It fails if
// revisions cannot be ordered. If the informer has found that the server was restored, it
// waits for the list that follows.
func (i *Informer[T]) WaitRevision(ctx context.Context, rev kube.Revision) error {
	if !rev.Ordered() {
		return fmt.Errorf("wait for revision %.40q: it is not a number and cannot be ordered", rev)
	}
	return i.wait(ctx, "at revision "+string(rev), false, func() (bool, error) {
		at, lost := i.store.reached()
		if at == "" || lost {
			return false, nil
		}
		c, err := at.Compare(rev)
		return err == nil && c >= 0, err
	})
}

// wait waits until done; if it is patient, that is not before Synced.
func (i *Informer[T]) wait(ctx context.Context, what string, patient bool, done func() (bool, error)) error {
	for {
		i.mu.Lock()
		if i.watched == nil {
			i.watched, i.patient = make(chan struct{}), true
		}
		i.patient = i.patient && patient
		changed, ended := i.watched, i.ended
		i.mu.Unlock()
		if ended != nil {
			return fmt.Errorf("%s: not %s: the informer ended: %w", i.name, what, ended)
		}
		if ok, err := done(); err != nil {
			return err
		} else if ok {
			if !i.begin(ctx) {
				return i.notYet(what, context.Cause(ctx))
			}
			defer i.finish() // handlers have returned, or unwound: begin waited for them
			if i.torn {
				return fmt.Errorf("%s: not %s: the informer ended: %w", i.name, what, errUnwound)
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return i.notYet(what, context.Cause(ctx))
		}
	}
}

func (i *Informer[T]) notYet(what string, why error) error {
	if reason := i.Status().reason(); reason != nil {
		return wait.Explain(why, fmt.Errorf("%s: not %s: %w: %w", i.name, what, why, reason))
	}
	return fmt.Errorf("%s: not %s: %w", i.name, what, why)
}

// progress wakes all waiting calls.
func (i *Informer[T]) progress() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.watched != nil {
		close(i.watched)
		i.watched = nil
	}
}

// Name returns the name of the informer in errors, logs, probes and metrics: Options.Name or
// its default, such as "deployments.apps in default (app=web)".
func (i *Informer[T]) Name() string { return i.name }

// Ready returns nil if the informer is synced, runs, and is not stale; see
// [Status.Ready]. It is for readiness probes.
func (i *Informer[T]) Ready() error { return i.Status().Ready() }

// Status returns the state of the informer.
func (i *Informer[T]) Status() Status {
	s := Status{Name: i.name, Objects: i.store.Len(), Revision: i.store.Revision(), MaxStaleness: i.maxStaleness}
	if i.account != nil {
		s.Bytes = i.account.held.Load()
	}
	for n := range i.inHand {
		if since := i.inHand[n].Load(); since != 0 {
			s.Lag = max(s.Lag, time.Since(time.Unix(0, since)))
		}
	}
	if h := i.calling.Load(); h != nil {
		if since := h.since.Load(); since != 0 { // else the call has just returned
			s.Busy, s.BusySince = funcName(h.f), time.Unix(0, since)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	s.Started, s.Ended, s.Synced = i.started, i.ended, i.ended == nil && i.store.Synced()
	var errs health.Joined
	if i.ended != nil {
		errs = append(errs, i.ended)
	}
	for n, src := range i.sources {
		if at, ok := contact(src, i.started); ok && (s.LastContact.IsZero() || at.Before(s.LastContact)) {
			s.LastContact = at
		}
		if err := i.health[n].Error(); err != nil {
			errs = append(errs, err)
		}
	}
	s.Err = errs.Err()
	return s
}

// contact returns when a source last had contact with its server; started, if it had
// none yet. ok is false if the source does not report it.
func contact(source any, started time.Time) (at time.Time, ok bool) {
	w, ok := source.(interface{ LastContact() time.Time })
	if !ok || started.IsZero() {
		return time.Time{}, false
	}
	if at = w.LastContact(); at.Before(started) {
		at = started
	}
	return at, true
}

// funcName returns the name of a function: "main.run.func1".
func funcName(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}
