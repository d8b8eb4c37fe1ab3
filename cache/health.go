package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/cache/internal/health"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// failed reports an error that the source recovers from.
func (i *Informer[T]) failed(source int, ev watch.Event[T], err error) {
	if i.onError != nil {
		i.onError(err)
	}
	item := codec.IsItem(err)
	var report, last bool
	i.mu.Lock()
	h := &i.health[source]
	if item {
		report, last = h.Undecoded(ev.Type, ev.Key, err)
	} else {
		report = h.Failed(err)
	}
	log := i.log
	i.mu.Unlock()
	i.progress()
	if log == nil {
		return
	}
	switch {
	case last:
		log.Warn("more objects cannot be decoded; further ones are not logged", "informer", i.name)
	case report && item:
		attrs := []any{"informer", i.name, "key", ev.Key.String(), "uid", ev.UID, "rev", string(ev.Revision)}
		if errors.As(err, new(*transformError)) {
			log.Warn("an object cannot be transformed and is left out; its error may quote it, and goes to Options.OnError", attrs...)
		} else {
			log.Warn("an object cannot be decoded and is left out", append(attrs, "err", err)...)
		}
	case report && health.Kind(err) == "failing":
		log.Warn("requests fail; trying again", "informer", i.name, "err", err)
	case report:
		log.Warn("requests are refused; trying again", "informer", i.name, "reason", health.Kind(err), "err", err)
	}
}

// well notes that an event of a source was applied.
func (i *Informer[T]) well(source int, ev watch.Event[T]) {
	i.mu.Lock()
	over := i.health[source].Took(ev.Type, ev.Key)
	log, wakes := i.log, ev.Type == watch.Synced || !i.patient // a first list has many events
	i.mu.Unlock()
	if wakes {
		i.progress()
	}
	if log != nil && over {
		log.Info("requests succeed again", "informer", i.name)
	}
	if log != nil && ev.Type == watch.Restart && errors.Is(ev.Cause, watch.ErrAhead) {
		log.Warn("the server was restored to an earlier state; listing again", "informer", i.name, "err", ev.Cause)
	}
}

// nameOf returns the default name of an informer.
func nameOf[T kube.Object](c client.Collection[T], namespaces []string, s kube.Shard) string {
	name := c.Resource.GroupResource()
	if c.Resource.Namespaced && !slices.Contains(namespaces, "") {
		name += " in " + strings.Join(namespaces[:min(3, len(namespaces))], ", ")
		if n := len(namespaces) - 3; n > 0 {
			name += fmt.Sprintf(" and %d more", n)
		}
	}
	selectors := slices.DeleteFunc([]string{c.Labels.String(), c.Fields.String()}, func(s string) bool { return s == "" })
	if !s.All() {
		for _, r := range s.Ranges() {
			selectors = append(selectors, fmt.Sprintf("hashes %016x-%016x", r.First, r.Last))
		}
	}
	if len(selectors) > 0 {
		name += " (" + strings.Join(selectors, "; ") + ")"
	}
	return name
}

// SetLogger sets the logger of an informer without Options.Logger. A Manager or Group
// calls it before Run.
func (i *Informer[T]) SetLogger(l *slog.Logger) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.log == nil {
		i.log = l
	}
}

func (i *Informer[T]) logger() *slog.Logger {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.log
}

// observe logs when the objects become stale and when they are current again, until ctx
// is done.
func (i *Informer[T]) observe(ctx context.Context, log *slog.Logger) {
	timer := time.NewTimer(i.maxStaleness)
	defer timer.Stop()
	stale := false
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		s := i.Status()
		if s.LastContact.IsZero() {
			return // no source reports its last contact
		}
		err := s.stale()
		switch {
		case err != nil && !stale:
			log.Warn("no contact with the server: objects may be out of date", "informer", i.name,
				"since", s.LastContact, "err", because("stale", s.reason()))
		case err == nil && stale:
			log.Info("contact with the server restored", "informer", i.name)
		}
		if stale = err != nil; stale {
			timer.Reset(recheck)
		} else {
			timer.Reset(max(time.Until(s.LastContact.Add(s.MaxStaleness)), 0) + time.Millisecond)
		}
	}
}

// defaultMaxStaleness is the default of Options.MaxStaleness.
const defaultMaxStaleness = 10 * time.Minute

// recheck is the interval at which a stale informer is checked.
const recheck = 5 * time.Second
