package cache

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/cache/internal/health"
	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/cache/internal/selection"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// Source yields the events of a collection, as a *watch.Watcher does. A Source continues after each
// error that it yields except the last one, which is the reason why it ended.
type Source[T kube.Object] interface {
	Events(ctx context.Context) iter.Seq2[watch.Event[T], error]
}

// Options of an Informer. The zero value is the recommended setting.
type Options[T kube.Object] struct {
	// Watch sets how the objects are watched, and the shard. [New] ignores its Revision: an
	// informer begins with the current objects, or with its Snapshot.
	Watch watch.Options

	// Namespaces, if set, replaces the collection's namespace: each one gets a watch of its
	// own. It is for clients that may not watch all namespaces. Duplicates are ignored.
	Namespaces []string

	// Transform changes an object before it is stored. It must not change the name, namespace, UID
	// or resourceVersion, and must be idempotent: objects of a snapshot are transformed again when
	// they are loaded. An object for which it fails or returns nil, or whose name it changes, is
	// left out like one that cannot be decoded. It is called by one goroutine at a time. Strings
	// that it keeps may hold the memory of what it drops, unless it copies them with strings.Clone.
	Transform func(T) (T, error)

	// Snapshot, if it has a path, keeps the store on disk for the next start. The informer
	// must then watch one namespace, or all of them, but not a list of several.
	Snapshot Snapshot

	// Budget, if set, limits the memory of the objects, together with all informers
	// that share it.
	Budget *Budget

	// OnError, if set, is called with every error that the informer survives, each retry included:
	// a request that failed, an object that could not be decoded, a snapshot that could not be
	// saved. Calls may be concurrent, except two about the same namespace, and two about snapshots.
	OnError func(error)

	// Logger, if set, gets one line for each change of state, and none for each retry:
	// requests are refused (401, 403, 404) or keep failing, requests succeed again; an
	// object cannot be decoded (its key, never its content); no contact with the server for
	// MaxStaleness, contact restored; the server was restored to an earlier state; the
	// snapshot or its journal cannot be read or written, or is written again; the
	// informer ended. Default: the logger of the Manager or Group that runs the informer.
	Logger *slog.Logger

	// MaxStaleness is how long the server may be silent before Ready fails and a
	// warning is logged. Default 10 minutes; negative = no limit.
	MaxStaleness time.Duration

	// Name identifies the informer in errors, logs, probes and metrics. Default:
	// resource, group, namespaces, selectors and shard.
	Name string
}

// Informer keeps a [Store] up to date and calls handlers with its changes. All handlers
// get the changes in the same order. Its methods are safe for concurrent use.
type Informer[T kube.Object] struct {
	store        *Store[T]
	sources      []Source[T]
	transform    func(T) (T, error)
	selection    selection.Selection
	listings     []func(context.Context) (*listing, error) // by source; nil = no server is known
	onError      func(error)
	name         string
	maxStaleness time.Duration              // 0 = no limit
	calling      atomic.Pointer[Handler[T]] // the handler that is running; nil = none
	restorer     *restorer[T]               // nil = no snapshot
	account      *account[T]                // nil = no budget
	inHand       []atomic.Int64             // by source: when its current event was received, in ns of Unix time; 0 = no event

	// exclusive holds one token; a goroutine takes it by receiving. Its holder may
	// change the store and call handlers: for one event with its handlers, one call of
	// a resync, or the replay for a new handler. Therefore handlers see no gap, no
	// repeat and no concurrent call. It is the outermost lock: snapshots and waits take
	// it too. Reading the store does not need it.
	exclusive chan struct{}
	torn      bool // an event did not return from all handlers; guarded by exclusive

	mu        sync.Mutex
	handlers  []*Handler[T]   // replaced, never changed
	log       *slog.Logger    // nil = none
	mutated   func(Mutation)  // nil = mutations are not detected
	started   time.Time       // when Run was called; zero = it was not
	ended     error           // why Run returned
	health    []health.Source // by source
	saveFails bool            // the last snapshot, or a record of the journal, could not be written
	watched   chan struct{}   // closed at the next event or error; nil = nobody waits
	patient   bool            // who waits for it need not see an event before Synced
	resynced  chan struct{}   // of size 1: a handler's resync was set
}

// New returns an informer of c. It does nothing until Run.
func New[T kube.Object](c client.Collection[T], o Options[T]) *Informer[T] {
	o.Watch.Revision = ""
	namespaces := distinct(o.Namespaces)
	if len(namespaces) == 0 {
		namespaces = []string{c.Namespace}
	}
	var i *Informer[T]
	watches := func(source int) watch.Options {
		opts := o.Watch
		opts.Trace.Ahead = func(why error) {
			i.lose(source)
			if f := o.Watch.Trace.Ahead; f != nil {
				f(why)
			}
		}
		return opts
	}
	var sources []Source[T]
	for n, ns := range namespaces {
		sources = append(sources, watch.New(c.In(ns), watches(n)))
	}
	if o.Name == "" {
		o.Name = nameOf(c, namespaces, o.Watch.Shard)
	}
	i = From(o, sources...)
	i.selection = selection.Selection{Namespaces: namespaces, Labels: c.Labels, Fields: c.Fields, Shard: o.Watch.Shard}
	i.listings = listings(c, namespaces, list.Options{Shard: o.Watch.Shard, Limit: o.Watch.Limit})
	i.restorer = newRestorer(c.In(namespaces[0]), o, watches(0))
	return i
}

// distinct returns namespaces without duplicates, or only "" (all) if that is among them.
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

// From returns an informer of the objects of sources. Each object must come from one
// source only. The informer has no snapshot.
func From[T kube.Object](o Options[T], sources ...Source[T]) *Informer[T] {
	i := &Informer[T]{
		store: newStore[T](len(sources)), sources: sources, transform: o.Transform, onError: o.OnError,
		exclusive: make(chan struct{}, 1), health: make([]health.Source, len(sources)), resynced: make(chan struct{}, 1),
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
	i.exclusive <- struct{}{}
	return i
}

// Store returns the objects that the informer keeps. Reading it sends no request.
func (i *Informer[T]) Store() *Store[T] { return i.store }

// apply applies an event and calls the handlers. If err is not nil, none of that was
// done. unlogged is why the journal does not hold the event.
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
	if err := i.account.admit(i.store, ev, unreadable); err != nil {
		return nil, err
	}
	change := i.store.apply
	if unreadable {
		change = i.store.quarantine
	}
	i.torn = true // until all handlers have returned
	deltas := change(source, ev)
	i.account.enter(i.store, deltas)
	unlogged = i.note(deltas)
	i.deliver(deltas)
	if ev.Type == watch.Synced && i.store.Synced() {
		for _, h := range i.current() {
			h.sync()
		}
	}
	i.torn = false
	return unlogged, nil
}

// begin takes exclusive. It returns false if ctx is done first.
func (i *Informer[T]) begin(ctx context.Context) bool {
	select {
	case <-i.exclusive:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // both were ready
		i.finish()
		return false
	}
	return true
}

// finish releases exclusive.
func (i *Informer[T]) finish() { i.exclusive <- struct{}{} }

// note writes to the journal what the next start must know of deltas. The caller holds
// exclusive. It returns why the journal does not hold it.
func (i *Informer[T]) note(deltas []Delta[T]) error {
	if i.restorer == nil {
		return nil
	}
	return i.restorer.journal.Write(i.journaled(deltas))
}

// deliver calls all handlers. The caller holds exclusive.
func (i *Informer[T]) deliver(deltas []Delta[T]) {
	for _, d := range deltas {
		for _, h := range i.current() {
			h.call(d)
		}
	}
}

// journaled returns the states that the journal must hold before handlers are called
// with deltas: those of objects that are new to some handler.
func (i *Informer[T]) journaled(deltas []Delta[T]) (records []persist.Record[T]) {
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
