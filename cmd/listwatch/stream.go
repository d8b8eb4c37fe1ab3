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
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/order"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/refused"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// stream follows one target and makes records of what happens. It is for one
// goroutine, but for contact.
type stream[T record.Raw] struct {
	target.Target
	served     kube.Resource // what target.resource is served as now, which may be in another version
	col        client.Collection[T]
	opts       watch.Options
	watcher    atomic.Pointer[watch.Watcher[T]]
	resolve    func(context.Context) (kube.Resource, error) // asks what the type is served as; nil = it was typed with a version
	store      *cache.RWStore[T]
	env        bool // values of environment variables are redacted
	selector   filter.Selector[T]
	asRaw      func(T) codec.Raw
	complete   func(T) codec.Raw // with managedFields, for expressions; nil = they see the same
	give       func(record.Record)
	first      *order.ByTime // sorts the first list; nil = it stays as it comes
	talk       *messages.Writer
	folder     *messages.Folder // of all streams
	state      *monitor.State
	refusals   *refused.Targets     // counts targets that may not be read, and are skipped; nil = they end all
	skipped    atomic.Bool          // since it was refused
	skips      int                  // so many times
	absentType bool                 // the last time, because the type is not served
	woken      chan struct{}        // discovery has found the type
	reached    func(cluster string) // called when a watch is answered after failures; nil = nobody asks

	memory  *memory // of all streams; nil = no limit
	held    int64   // bytes of the objects in store
	counted int64   // bytes of this stream in memory

	once        bool // end at SYNCED
	decided     bool // --until and its like say when it ends, or it has happened
	terse       bool // that there are no objects is not said
	narrowed    bool // there are selectors
	maxFailures int  // in a row; negative = any number

	columns  *table.Columns
	began    time.Time
	since    time.Time // the run's start, where the first list comes later; zero = it does not
	reported time.Time // progress, last
	items    int       // of the listing under way
	total    int       // of it, as the server says; 0 = it does not
	listing  bool
	synced   bool          // the whole collection was delivered once
	partial  bool          // it was not: we began in the middle
	opened   bool          // a watch was answered
	from     kube.Revision // partial: how far we are
	relist   *relist
	attempts int                 // that failed since a watch was open
	broken   bool                // the last watch ended in an error
	noted    bool                // there is a checkpoint, which gets marks
	lose     func()              // has the checkpoint forget the revision; nil = there is none
	resumed  bool                // from what it had
	maybe    []checkpoint.Object // see reckon
}

// newStream returns the stream of t, with the client and the selectors of c. Its watcher
// begins at opts.Revision.
func newStream[T record.Raw](t target.Target, c client.Collection[codec.Raw], o *output, opts watch.Options, asRaw func(T) codec.Raw) *stream[T] {
	s := &stream[T]{Target: t, served: t.Resource, store: cache.NewStore[T](), woken: make(chan struct{}, 1), asRaw: asRaw, partial: opts.Revision != "", from: opts.Revision, began: time.Now()}
	s.selects(o)
	s.first = o.byTime(t.Resource)
	s.opts, s.opts.Trace = opts, watch.Trace{Listed: s.listed, Connected: s.connected, Interrupted: s.interrupted, Ahead: s.ahead}
	s.col = client.Collection[T]{Client: c.Client, Labels: c.Labels, Fields: c.Fields, Accept: o.accept(), Query: o.query(s.first)}
	s.begin()
	return s
}

// begin makes the watcher, of what is served now.
func (s *stream[T]) begin() {
	s.col.Resource, s.col.Namespace = s.served, s.Namespace
	s.watcher.Store(watch.New(s.col, s.opts))
}

// contact is when the server last sent anything.
func (s *stream[T]) contact() time.Time {
	if s.skipped.Load() {
		return time.Now() // nothing is asked
	}
	return s.watcher.Load().LastContact()
}

// retry ends a pause before the next attempt to reach the cluster.
func (s *stream[T]) retry(cluster string) {
	if cluster == s.Cluster {
		s.watcher.Load().Retry()
	}
}

// listen reports when the server is silent.
func (s *stream[T]) listen(ctx context.Context) {
	monitor.Silence(ctx, s.Cluster, s.Label(), s.contact, s.folder)
}

// follow runs until ctx is done, the end that was asked for, or a failure that
// nothing mends.
func (s *stream[T]) follow(ctx context.Context) error {
	defer func() { s.first.Flush(s.give) }() // of a first list that was not complete
	if s.Absent {
		if err := s.await(ctx); err != nil {
			return err
		}
	}
	for {
		err := s.run(ctx)
		switch {
		case errors.Is(err, errInstead):
		case errors.Is(err, errSkipped):
			if s.once {
				return nil
			}
			if err := s.rest(ctx); err != nil {
				return err
			}
		default:
			return err
		}
		s.begin()
	}
}

// errInstead ends a watcher in whose place another one is to begin.
var errInstead = errors.New("another watcher is to begin")

// run is follow for one watcher. It leaves the loop at the first event that it does
// not take, and what it has given cannot be taken back: so nothing is skipped.
func (s *stream[T]) run(ctx context.Context) error {
	for ev, err := range s.watcher.Load().Events(ctx) {
		var item *codec.ItemError
		var stop *watch.Interruption
		switch {
		case err == nil:
			if err := s.event(ctx, ev); err != nil {
				return err
			}
			s.mark(ev)
			if err := s.fits(); err != nil {
				return err
			}
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
				return s.skip(stop, err)
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return exit.Failed(err)
		}
	}
	return errors.New("the watcher ended without a reason") // it never does
}

// event makes the records of ev. After an error it is not known what they are.
func (s *stream[T]) event(ctx context.Context, ev watch.Event[T]) error {
	switch ev.Type {
	case watch.Restart:
		s.restart(ev.Cause)
	case watch.Synced:
		s.headed(ctx)
	case watch.Bookmark:
		s.emit(record.Record{Type: string(ev.Type), ID: codec.Identity{ResourceVersion: string(ev.Revision)}})
	case watch.Added, watch.Modified, watch.Deleted:
		if c := table.Of(s.asRaw(ev.Object)); c != nil {
			s.columns = c
		} else if s.columns == nil {
			// The server has sent them with a bookmark, which nobody saw.
			s.columns = table.Fetch(ctx, s.col)
		}
		if !s.Includes(ev.Object.GetName()) {
			return nil
		}
		s.items++
		s.progress(s.items)
		if s.env {
			var err error
			if ev.Object, err = record.WithoutEnv(ev.Object); err != nil {
				s.quarantine(ev, &codec.ItemError{Identity: ev.Object.Identity(), Err: err})
				return nil
			}
		}
	}
	ev, how, err := s.selection(ev)
	if err != nil || how == filter.Dropped || s.blind(ev) {
		return err
	}
	for _, d := range s.apply(ev) {
		r := s.delta(d)
		switch how {
		case filter.Unmatched:
			if r.Unmatched = true; s.listing {
				r.Synthetic = "relist"
			}
		case filter.Replaced:
			r.Synthetic, r.Last = "relist", true
		}
		s.emit(r)
	}
	if ev.Type == watch.Synced {
		s.reckon(kube.Key{}, "", true)
		s.sync(ev.Revision)
	}
	return nil
}

// selects has s report what o selects.
func (s *stream[T]) selects(o *output) {
	s.env = o.env
	s.selector = filter.Selector[T]{Criteria: o.where, Known: s.store.Get, Fields: func(object T) (map[string]any, error) {
		r := s.object(watch.Added, object)
		r.Resource = s.served
		return record.MapOf(&r, o.format.Redact) // an error may quote what it saw
	}}
}

// selection returns what ev is to those who see only what is selected. The error is that
// the run ends before an expression does.
func (s *stream[T]) selection(ev watch.Event[T]) (watch.Event[T], filter.Passage, error) {
	id := ev.Object.Identity()
	ev, how, err := s.selector.Take(ev)
	switch {
	case errors.Is(err, jq.ErrEnded):
		return ev, how, exit.Failed(err)
	case err != nil:
		s.each(fmt.Sprintf("%s%s is not selected: %v", record.KubectlName(s.Resource, id.Name), target.In(id.Namespace), err), "undecided", "err", printable.Line(err.Error()))
		s.emit(record.Record{Type: record.QuarantinedType, ID: id, Detail: record.ErrorDetail{Error: printable.Line(err.Error())}})
	}
	return ev, how, nil
}

// Undecided is that of the selector.
func (s *stream[T]) Undecided() error { return s.selector.Undecided(s.Resource) }

// delta returns the record of a change of the store.
func (s *stream[T]) delta(d cache.Delta[T]) record.Record {
	d = s.continued(d)
	r := s.object(d.Type, d.New)
	if d.Type == watch.Modified {
		r.Old = s.asRaw(d.Old)
	}
	if d.Revision != "" {
		r.ID.ResourceVersion = string(d.Revision)
	}
	r.ID.UID = d.UID
	r.Initial = d.Initial
	if d.Inferred || d.Initial && s.partial {
		r.Initial = false
		r.Synthetic = "relist"
		r.Last = d.Type == watch.Deleted
	}
	if r.Initial && !s.since.IsZero() && !record.CreatedOf(r.Object).Before(s.since.Truncate(time.Second)) {
		r.Initial = false // it did not exist before the run
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
func (s *stream[T]) object(t watch.Type, o T) record.Record {
	r := record.Record{Type: string(t), ID: o.Identity(), Object: s.asRaw(o), Columns: s.columns}
	if s.complete != nil {
		r.Complete = s.complete(o)
	}
	return r
}

func (s *stream[T]) emit(r record.Record) {
	r.Time, r.Resource, r.Cluster = time.Now(), s.served, s.Cluster
	s.first.Give(r, s.give)
}

// progressEvery is how often a long first list is reported.
const progressEvery = 10 * time.Second
