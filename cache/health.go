package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// health holds the current errors of one source. It is guarded by Informer.mu.
type health struct {
	err      error  // of the last request; nil = the server answered
	reported string // kind of the failure that was logged last; "" = none, or it is over

	bad     map[kube.Key]error // objects that could not be decoded, at most maxBad
	more    bool               // there were further ones, which are not kept
	listing map[kube.Key]error // those of the listing in progress; nil = none
}

// maxBad limits the objects of a source that could not be decoded which are kept and
// logged one by one.
const maxBad = 100

// kindOf returns the kind of a failure; each kind is logged once. It returns "" for the
// first failures of requests: most are temporary.
func kindOf(err error) string {
	switch {
	case errors.Is(err, kube.ErrUnauthorized):
		return "unauthorized"
	case errors.Is(err, kube.ErrForbidden):
		return "forbidden"
	case errors.Is(err, kube.ErrNotFound):
		return "not found"
	}
	if i := (*watch.Interruption)(nil); errors.As(err, &i) && i.Attempt < patience {
		return ""
	}
	return "failing"
}

// patience is the number of failed requests in a row after which the failure is logged,
// unless the server refused them: about 6 seconds.
const patience = 4

// failed stores the error of a request, and reports whether it is to be logged.
func (h *health) failed(err error) bool {
	h.err = err
	kind := kindOf(err)
	if kind == "" || kind == h.reported {
		return false
	}
	h.reported = kind
	return true
}

// undecoded stores the error of an object that could not be decoded. It reports whether
// it is to be logged; last means that further ones are not kept.
func (h *health) undecoded(ev watch.Type, key kube.Key, err error) (news, last bool) {
	if ev == watch.Deleted { // the object no longer exists
		h.forget(key)
		return true, false
	}
	// The strings of the event may share memory with a large object.
	key = kube.Key{Namespace: strings.Clone(key.Namespace), Name: strings.Clone(key.Name)}
	if h.listing != nil && len(h.listing) < maxBad {
		h.listing[key] = err
	}
	_, known := h.bad[key]
	switch {
	case !known && len(h.bad) >= maxBad:
		last, h.more = !h.more, true
		return false, last
	case h.bad == nil:
		h.bad = map[kube.Key]error{}
	}
	h.bad[key] = err
	return !known, false
}

// took notes an event that was applied, and reports whether a failure that was logged
// is over.
func (h *health) took(ev watch.Type, key kube.Key) (over bool) {
	over, h.err, h.reported = h.reported != "", nil, ""
	switch {
	case ev == watch.Restart:
		h.listing = map[kube.Key]error{}
	case ev == watch.Synced && h.listing != nil:
		h.bad, h.listing, h.more = h.listing, nil, len(h.listing) >= maxBad
	case len(h.bad) > 0:
		h.forget(key)
	}
	return over
}

func (h *health) forget(key kube.Key) {
	delete(h.bad, key)
	delete(h.listing, key)
}

// error joins the current errors.
func (h *health) error() error {
	var errs joined
	if h.err != nil {
		errs = append(errs, h.err)
	}
	n := 0
	for _, err := range h.bad {
		if n++; n > 3 {
			errs = append(errs, fmt.Errorf("%d objects in all could not be decoded", len(h.bad)))
			break
		}
		errs = append(errs, err)
	}
	return errs.err()
}

// joined is errors.Join in one line.
type joined []error

func (j joined) Error() string {
	var texts []string
	for _, err := range j {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (j joined) Unwrap() []error { return j }

func (j joined) err() error {
	switch len(j) {
	case 0:
		return nil
	case 1:
		return j[0]
	}
	return j
}

// failed reports an error that the source recovers from.
func (i *Informer[T]) failed(source int, ev watch.Event[T], err error) {
	if i.onError != nil {
		i.onError(err)
	}
	item := codec.IsItem(err)
	var news, last bool
	i.mu.Lock()
	h := &i.health[source]
	if item {
		news, last = h.undecoded(ev.Type, ev.Key, err)
	} else {
		news = h.failed(err)
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
	case news && item:
		attrs := []any{"informer", i.name, "key", ev.Key.String(), "uid", ev.UID, "rev", string(ev.Revision)}
		if errors.As(err, new(*transformError)) {
			log.Warn("an object cannot be transformed and is left out; its error may quote it, and goes to Options.OnError", attrs...)
		} else {
			log.Warn("an object cannot be decoded and is left out", append(attrs, "err", err)...)
		}
	case news && kindOf(err) == "failing":
		log.Warn("requests fail; trying again", "informer", i.name, "err", err)
	case news:
		log.Warn("requests are refused; trying again", "informer", i.name, "reason", kindOf(err), "err", err)
	}
}

// well notes that an event of a source was applied.
func (i *Informer[T]) well(source int, ev watch.Event[T]) {
	i.mu.Lock()
	over := i.health[source].took(ev.Type, ev.Key)
	log := i.log
	i.mu.Unlock()
	i.progress()
	if log == nil {
		return
	}
	if over {
		log.Info("requests succeed again", "informer", i.name)
	}
	if ev.Type == watch.Restart && errors.Is(ev.Cause, watch.ErrAhead) {
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
	var selectors []string
	if !c.Labels.Empty() {
		selectors = append(selectors, c.Labels.String())
	}
	if !c.Fields.Empty() {
		selectors = append(selectors, c.Fields.String())
	}
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

// Run watches until ctx is done or a source ends, and returns the reason after all its
// goroutines have ended. It can be called once.
//
// When ctx is done, each source ends at the first event that was not applied. Of each
// source, the store then has all events up to one, and all handlers have returned from
// them.
//
// Handlers are called in the goroutine of Run, or, with several sources, in those of
// the sources, one at a time. A slow handler delays reading from the server; a slow
// consumer should use [Informer.Changes].
//
// A panic of a handler that runs in Run's goroutine passes through Run; otherwise it
// ends the program. A handler that calls runtime.Goexit ends the informer. In both
// cases the last snapshot does not hold the event.
func (i *Informer[T]) Run(ctx context.Context) error {
	i.mu.Lock()
	if !i.started.IsZero() || i.ended != nil {
		i.mu.Unlock()
		return ErrRunning
	}
	i.started = time.Now()
	i.mu.Unlock()

	err := errUnwound // unless run returns
	observed, stop := context.WithCancel(ctx)
	var observer sync.WaitGroup
	if log := i.logger(); log != nil && i.maxStaleness > 0 {
		observer.Go(func() { i.observe(observed, log) })
	}
	defer func() {
		stop()
		observer.Wait()
		i.end(ctx, err)
	}()
	err = i.run(ctx)
	return err
}

// end stores and logs the error of Run.
func (i *Informer[T]) end(ctx context.Context, err error) {
	i.mu.Lock()
	i.ended = err
	i.mu.Unlock()
	i.progress()
	if log := i.logger(); log != nil && ctx.Err() == nil {
		log.Error("the informer ended; its objects are no longer updated", "informer", i.name, "err", err)
	}
}

// abandon ends an informer that was not started and will not be.
func (i *Informer[T]) abandon(err error) {
	i.mu.Lock()
	if i.started.IsZero() && i.ended == nil {
		i.ended = err
	}
	i.mu.Unlock()
	i.progress()
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
