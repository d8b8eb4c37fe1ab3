package cache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// Source tells a collection, event by event, as a *watch.Watcher does. The last
// error it yields is why it ended; the others are hiccups.
type Source[T kube.Object] interface {
	Events(ctx context.Context) iter.Seq2[watch.Event[T], error]
}

// Options of an Informer. The zero value is the recommended setting.
type Options[T kube.Object] struct {
	// Watch says what is watched and how. New ignores its Revision: an informer
	// begins with what exists, or with its Snapshot.
	Watch watch.Options

	// Namespaces, if set, are watched instead of the collection's own, each by
	// a watch of its own: for whoever may not watch all of them. One that is named
	// twice is watched once.
	Namespaces []string

	// Transform changes an object before it is stored; it must not change the
	// name, namespace, UID or resourceVersion. What a snapshot holds is
	// transformed again when it is loaded, so doing it twice must do no more
	// than once. An object whose transformation fails, or changes its name, is left
	// out as one that could not be decoded. It is called once at a time, also where
	// there are several namespaces.
	Transform func(T) (T, error)

	// Snapshot, if it has a path, keeps the store on disk for the next start. It
	// is for one namespace, or all, not for several.
	Snapshot Snapshot

	// Budget, if set, limits the memory of the objects, together with whatever
	// else has the same one.
	Budget *Budget

	// OnError, if set, is called with every error that the informer survives, each
	// retry included: a request that failed, an object that could not be decoded, a
	// snapshot that could not be saved. There is one call at a time for each
	// namespace, and one for snapshots.
	OnError func(error)

	// Logger, if set, gets one line for each change of state, and none for each
	// retry: requests are refused (401, 403, 404) or go on failing, succeed again;
	// an object cannot be decoded (its key, and never its content); no contact with
	// the server for MaxStaleness, contact again; the server was restored; the
	// informer ended. Default: that of the Manager or Group that runs the informer.
	Logger *slog.Logger

	// MaxStaleness is how long the server may be silent until Ready fails and a
	// line is logged. Default 10 minutes; negative = for ever.
	MaxStaleness time.Duration

	// Name is that of the informer in errors, logs, probes and metrics. Default:
	// resource, group, namespaces and selectors of what it watches.
	Name string
}

// Informer keeps a [Store] up to date and tells handlers what changes. It shows
// all of them the same changes in the same order. Its methods are safe for
// concurrent use.
type Informer[T kube.Object] struct {
	store        *Store[T]
	sources      []Source[T]
	transform    func(T) (T, error)
	selection    selection
	listings     []func(context.Context) (*listing, error) // by source; nil = no server is known
	onError      func(error)
	name         string
	maxStaleness time.Duration              // 0 = none
	calling      atomic.Pointer[Handler[T]] // the handler that runs; nil = none
	warm         *warm[T]                   // nil = no snapshot
	account      *account[T]                // nil = no budget
	inHand       []atomic.Int64             // by source: since when it has had an event, in ns of Unix time; 0 = it has none

	// turn holds one token. Whoever has it may change the store and call
	// handlers: an event with its handlers, one call of a resync, the replay for
	// a new handler. That is why they never see a gap, a repeat or two calls at
	// a time. Reading the store needs no turn.
	turn chan struct{}
	torn bool // an event did not return from all handlers; for who has the turn

	mu       sync.Mutex
	handlers []*Handler[T] // replaced, never changed
	log      *slog.Logger  // nil = none
	started  time.Time     // when Run was called; zero = it was not
	ended    error         // why Run returned
	health   []health      // by source
	watched  chan struct{} // closed at the next progress or problem; nil = nobody waits
	resynced chan struct{} // of size 1: a handler's resync was set
}

// New returns an informer of c. It does nothing until Run.
func New[T kube.Object](c client.Collection[T], o Options[T]) *Informer[T] {
	o.Watch.Revision = "" // an informer begins with what exists
	namespaces := distinct(o.Namespaces)
	if len(namespaces) == 0 {
		namespaces = []string{c.Namespace}
	}
	var sources []Source[T]
	for _, ns := range namespaces {
		sources = append(sources, watch.New(c.In(ns), o.Watch))
	}
	if o.Name == "" {
		o.Name = nameOf(c.Resource, namespaces, o.Watch)
	}
	i := From(o, sources...)
	i.selection = selection{namespaces, o.Watch}
	i.listings = listings(c, namespaces, list.Options{Labels: o.Watch.Labels, Fields: o.Watch.Fields, Limit: o.Watch.Limit})
	i.warm = newWarm(c.In(namespaces[0]), o)
	return i
}

// distinct returns namespaces without those that another one covers.
func distinct(namespaces []string) (list []string) {
	if slices.Contains(namespaces, "") { // all of them
		return []string{""}
	}
	for _, ns := range namespaces {
		if !slices.Contains(list, ns) {
			list = append(list, ns)
		}
	}
	return list
}

// From returns an informer of the objects that sources tell. No object may be
// told by two of them. It has no snapshot.
func From[T kube.Object](o Options[T], sources ...Source[T]) *Informer[T] {
	i := &Informer[T]{
		store: newStore[T](len(sources)), sources: sources, transform: o.Transform, onError: o.OnError,
		turn: make(chan struct{}, 1), health: make([]health, len(sources)), resynced: make(chan struct{}, 1),
		inHand: make([]atomic.Int64, len(sources)), log: o.Logger, name: o.Name, maxStaleness: max(o.MaxStaleness, 0),
	}
	if i.name == "" {
		i.name = strings.TrimLeft(fmt.Sprintf("%T", *new(T)), "*")
	}
	if o.MaxStaleness == 0 {
		i.maxStaleness = defaultMaxStaleness
	}
	if o.Budget != nil {
		i.account = &account[T]{budget: o.Budget, size: codec.SizerOf[T]()}
	}
	i.turn <- struct{}{}
	return i
}

// Store returns what the informer keeps. Reading it never asks the server.
func (i *Informer[T]) Store() *Store[T] { return i.store }

// ErrRunning is returned by Run of an informer that runs, or ran.
var ErrRunning = errors.New("the informer was started before")

// errUnwound is why Run ends where a handler did not return.
var errUnwound = errors.New("a handler panicked or called runtime.Goexit: the event that it was called with counts as not delivered")

// run is Run.
func (i *Informer[T]) run(ctx context.Context) error {
	if i.account != nil {
		defer i.account.close()
	}
	if i.warm != nil {
		release, err := i.open()
		if err != nil {
			return err
		}
		defer release()
		defer i.warm.journal.End()
		if err := i.load(); err != nil {
			return err
		}
	}

	ctx, cancel := context.WithCancelCause(ctx)
	var others sync.WaitGroup
	stop := func(why error) {
		cancel(why)
		others.Wait()
	}
	defer stop(errUnwound)
	start := func(f func() error) {
		others.Go(func() {
			why := errUnwound
			defer func() { cancel(why) }()
			why = f()
		})
	}
	if i.warm != nil {
		start(func() error { return i.saveEvery(ctx) })
	}
	start(func() error { return i.resync(ctx) })
	for n, src := range i.sources[1:] {
		start(func() error { return i.follow(ctx, n+1, src) })
	}
	stop(i.follow(ctx, 0, i.sources[0]))
	if i.warm != nil {
		i.save()
	}
	return context.Cause(ctx)
}

// follow applies the events of a source and returns why it ended. It leaves the loop
// at the first event that was not applied.
func (i *Informer[T]) follow(ctx context.Context, source int, src Source[T]) error {
	var last error
	for ev, err := range src.Events(ctx) {
		last = err
		var unreadable error
		switch {
		case err == nil:
			if ev, unreadable, err = i.transformed(ctx, ev); err != nil {
				return err
			}
		case codec.IsItem(err):
			unreadable = err
		default:
			if ctx.Err() == nil {
				i.failed(source, ev, err)
			}
			continue
		}
		unlogged, err := i.apply(ctx, source, ev, unreadable != nil)
		if err != nil {
			return err
		}
		if unlogged != nil {
			i.tell(unlogged)
		}
		if unreadable != nil {
			i.failed(source, ev, unreadable)
		} else {
			i.well(source, ev)
		}
	}
	if last == nil {
		last = errors.New("the source ended without a reason")
	}
	return last
}

// apply applies an event and calls the handlers. Where it fails, with err, none of that
// was done. It also returns why the journal does not hold the event.
func (i *Informer[T]) apply(ctx context.Context, source int, ev watch.Event[T], unreadable bool) (unlogged, err error) {
	i.inHand[source].Store(time.Now().UnixNano())
	defer i.inHand[source].Store(0)
	if !i.begin(ctx) {
		return nil, context.Cause(ctx)
	}
	defer i.finish()
	if i.torn {
		return nil, errUnwound
	}
	change := i.store.apply
	if unreadable {
		change = i.store.quarantine
	} else if err := i.account.admit(i.store, ev); err != nil {
		return nil, err
	}
	i.torn = true // until all of it has returned
	unlogged = i.distribute(change(source, ev))
	if ev.Type == watch.Synced && i.store.Synced() {
		for _, h := range i.current() {
			h.sync()
		}
	}
	i.torn = false
	return unlogged, nil
}

// begin waits for the turn and reports whether it came before ctx was done.
func (i *Informer[T]) begin(ctx context.Context) bool {
	select {
	case <-i.turn:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // both were ready
		i.finish()
		return false
	}
	return true
}

// finish gives the turn back.
func (i *Informer[T]) finish() { i.turn <- struct{}{} }

// distribute notes what the journal is to hold and calls all handlers. The caller has
// the turn. It returns why the journal does not hold it.
func (i *Informer[T]) distribute(deltas []Delta[T]) (unlogged error) {
	i.account.enter(deltas)
	if i.warm != nil {
		unlogged = i.warm.journal.Write(i.noted(deltas))
	}
	i.deliver(deltas)
	return unlogged
}

// deliver calls all handlers. The caller has the turn.
func (i *Informer[T]) deliver(deltas []Delta[T]) {
	for _, d := range deltas {
		for _, h := range i.current() {
			h.call(d)
		}
	}
}

// noted returns the states that the journal is to hold before handlers are called with
// deltas: of objects that are new to some handler.
func (i *Informer[T]) noted(deltas []Delta[T]) (records []persist.Record[T]) {
	for _, d := range deltas {
		isNew := func(h *Handler[T]) bool {
			if h.keep == nil || d.Type != watch.Modified {
				return d.Type == watch.Added
			}
			was, is := h.selected(d)
			return is && !was
		}
		if d.Type == watch.Added || slices.ContainsFunc(i.current(), isNew) {
			records = append(records, persist.Record[T]{Key: d.Key, Object: d.New, UID: d.UID, Revision: d.Revision})
		}
	}
	return records
}

func (i *Informer[T]) current() []*Handler[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handlers
}
