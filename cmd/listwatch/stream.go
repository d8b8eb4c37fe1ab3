package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/checkpoint"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// stream follows one target and makes records of what happens. It is for one
// goroutine, but for contact.
type stream[T raw] struct {
	target
	served   kube.Resource // what target.resource is served as now, which may be in another version
	col      client.Collection[T]
	opts     watch.Options
	watcher  atomic.Pointer[watch.Watcher[T]]
	resolve  func(context.Context) (kube.Resource, error) // asks what the type is served as; nil = it was typed with a version
	store    *cache.RWStore[T]
	env      bool // values of environment variables are redacted
	selector selector[T]
	asRaw    func(T) codec.Raw
	complete func(T) codec.Raw // with managedFields, for expressions; nil = they see the same
	give     func(record)
	talk     *messages.Writer
	state    *streamState

	once        bool // end at SYNCED
	decided     bool // --until and its like say when it ends
	narrowed    bool // there are selectors
	maxFailures int  // in a row; negative = any number

	columns  *columns
	began    time.Time
	told     time.Time // progress, last
	items    int       // of the listing under way
	total    int       // of it, as the server says; 0 = it does not
	listing  bool
	synced   bool          // the whole collection was told once
	partial  bool          // it was not: we began in the middle
	opened   bool          // a watch was answered
	from     kube.Revision // partial: how far we are
	relist   *relist
	attempts int                 // that failed since a watch was open
	broken   bool                // the last watch ended in an error
	noted    bool                // there is a checkpoint, which gets marks
	resumed  bool                // from what it had
	maybe    []checkpoint.Object // see reckon
}

// newStream returns the stream of t. Its watcher begins at opts.Revision.
func newStream[T raw](t target, c *client.Client, o *output, opts watch.Options, asRaw func(T) codec.Raw) *stream[T] {
	s := &stream[T]{target: t, served: t.resource, store: cache.NewStore[T](), asRaw: asRaw, partial: opts.Revision != "", from: opts.Revision, began: time.Now()}
	s.selects(o)
	s.opts, s.opts.Trace = opts, watch.Trace{Listed: s.listed, Connected: s.connected, Interrupted: s.interrupted}
	s.col = client.Collection[T]{Client: c, Accept: o.accept(), Query: o.query()}
	s.begin()
	return s
}

// begin makes the watcher, of what is served now.
func (s *stream[T]) begin() {
	accept, query := s.col.Accept, s.col.Query
	s.col = client.Of[T](s.col.Client, s.served).In(s.namespace)
	s.col.Accept, s.col.Query = accept, query
	s.watcher.Store(watch.New(s.col, s.opts))
}

// contact is when the server was last heard from.
func (s *stream[T]) contact() time.Time { return s.watcher.Load().LastContact() }

// follow runs until ctx is done, the end that was asked for, or a failure that
// nothing mends.
func (s *stream[T]) follow(ctx context.Context) error {
	for {
		err := s.run(ctx)
		if !errors.Is(err, errInstead) {
			return err
		}
		s.begin()
	}
}

// errInstead ends a watcher in whose place another one is to begin.
var errInstead = errors.New("another watcher is to begin")

// run is follow for one watcher. It leaves the loop at the first event that it does
// not take, and what it has given cannot be taken back: so nothing is passed over.
func (s *stream[T]) run(ctx context.Context) error {
	for ev, err := range s.watcher.Load().Events(ctx) {
		var item *codec.ItemError
		var stop *watch.Interruption
		switch {
		case err == nil:
			s.event(ctx, ev)
			s.mark(ev)
			if s.once && ev.Type == watch.Synced {
				return nil
			}
		case errors.As(err, &item):
			s.quarantine(ev, item)
			s.mark(ev)
		case errors.As(err, &stop):
			if s.instead(ctx, stop) {
				return errInstead
			}
			if err := s.fatal(stop); err != nil {
				return err
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return exit.Failed(err)
		}
	}
	return errors.New("the watcher ended without a reason") // it never does
}

func (s *stream[T]) event(ctx context.Context, ev watch.Event[T]) {
	switch ev.Type {
	case watch.Restart:
		s.restart(ev.Cause)
	case watch.Synced:
		s.headed(ctx)
	case watch.Bookmark:
		s.emit(record{Type: string(ev.Type), id: codec.Identity{ResourceVersion: string(ev.Revision)}})
	case watch.Added, watch.Modified, watch.Deleted:
		if c := columnsOf(s.asRaw(ev.Object)); c != nil {
			s.columns = c
		} else if s.columns == nil {
			// The server has sent them with a bookmark, which nobody saw.
			s.columns = fetchColumns(ctx, s.col)
		}
		if !s.includes(ev.Object.GetName()) {
			return
		}
		s.items++
		s.progress(s.items)
		if s.env {
			var err error
			if ev.Object, err = withoutEnv(ev.Object); err != nil {
				s.quarantine(ev, &codec.ItemError{Identity: ev.Object.Identity(), Err: err})
				return
			}
		}
	}
	ev, how := s.selection(ev)
	if how == dropped || s.blind(ev) {
		return
	}
	for _, d := range s.store.Apply(ev) {
		r := s.delta(d)
		switch how {
		case unmatched:
			if r.unmatched = true; s.listing {
				r.synthetic = "relist"
			}
		case replaced:
			r.synthetic, r.last = "relist", true
		}
		s.emit(r)
	}
	if ev.Type == watch.Synced {
		s.reckon(kube.Key{}, "", true)
		s.sync(ev.Revision)
	}
}

// selects has s report what o selects.
func (s *stream[T]) selects(o *output) {
	s.env = o.env
	s.selector = selector[T]{criteria: o.where, known: s.store.Get, fields: func(object T) (map[string]any, error) {
		r := s.object(watch.Added, object)
		r.resource = s.served
		return mapOf(&r, o.format.redact) // an error may quote what it saw
	}}
}

// selection returns what ev is to those who see only what is selected.
func (s *stream[T]) selection(ev watch.Event[T]) (watch.Event[T], passage) {
	id := ev.Object.Identity()
	ev, how, err := s.selector.take(ev)
	if err != nil {
		s.each(fmt.Sprintf("%s%s is not selected: %v", kubectlName(s.resource, id.Name), in(id.Namespace), err), "undecided", "err", printable.Line(err.Error()))
		s.emit(record{Type: quarantinedType, id: id, detail: errorDetail{Error: printable.Line(err.Error())}})
	}
	return ev, how
}

// undecided is that of the selector.
func (s *stream[T]) undecided() error { return s.selector.undecided(s.resource) }

// delta returns the record of a change of the store.
func (s *stream[T]) delta(d cache.Delta[T]) record {
	d = s.continued(d)
	r := s.object(d.Type, d.New)
	if d.Type == watch.Modified {
		r.old = s.asRaw(d.Old)
	}
	if d.Revision != "" {
		r.id.ResourceVersion = string(d.Revision)
	}
	r.id.UID = d.UID
	r.initial = d.Initial
	if d.Inferred || d.Initial && s.partial {
		r.initial = false
		r.synthetic = "relist"
		r.last = d.Type == watch.Deleted
	}
	if s.relist != nil {
		switch d.Type {
		case watch.Added:
			s.relist.added++
		case watch.Modified:
			s.relist.modified++
		case watch.Deleted:
			s.relist.deleted++
		}
	}
	return r
}

// object returns the record of an object.
func (s *stream[T]) object(t watch.Type, o T) record {
	r := record{Type: string(t), id: o.Identity(), object: s.asRaw(o), columns: s.columns}
	if s.complete != nil {
		r.complete = s.complete(o)
	}
	return r
}

func (s *stream[T]) emit(r record) {
	r.time, r.resource = time.Now(), s.served
	s.give(r)
}

// progressEvery is how often a long first list is told of.
const progressEvery = 10 * time.Second
