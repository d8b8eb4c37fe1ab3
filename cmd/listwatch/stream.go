package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// raw is codec.Raw or codec.RawFull.
type raw interface {
	kube.Object
	Identity() codec.Identity
}

// stream follows one target and makes records of what happens. It is for one
// goroutine, but for contact.
type stream[T raw] struct {
	target
	col     client.Collection[T]
	watcher *watch.Watcher[T]
	store   *cache.Store[T]
	asRaw   func(T) codec.Raw
	give    func(record)
	talk    *talk

	once        bool // end at SYNCED
	maxFailures int  // in a row; negative = any number

	columns  *columns
	began    time.Time
	told     time.Time // progress, last
	items    int       // of the listing under way
	listing  bool
	synced   bool          // the whole collection was told once
	partial  bool          // it was not: we began in the middle
	opened   bool          // a watch was answered
	from     kube.Revision // partial: how far we are
	relist   *relist
	attempts int  // that failed since a watch was open
	broken   bool // the last watch ended in an error
}

// relist counts what a second listing finds.
type relist struct {
	cause                    string
	added, modified, deleted int
}

// newStream returns the stream of t. Its watcher begins at opts.Revision.
func newStream[T raw](t target, c *client.Client, accept client.Accept, opts watch.Options, asRaw func(T) codec.Raw) *stream[T] {
	col := client.Of[T](c, t.resource).In(t.namespace)
	col.Accept = accept
	s := &stream[T]{target: t, col: col, store: cache.NewStore[T](), asRaw: asRaw, partial: opts.Revision != "", from: opts.Revision, began: time.Now()}
	opts.Trace = watch.Trace{Listed: s.listed, Connected: s.connected, Interrupted: s.interrupted}
	s.watcher = watch.New(col, opts)
	return s
}

// contact is when the server was last heard from.
func (s *stream[T]) contact() time.Time { return s.watcher.LastContact() }

// follow runs until ctx is done, the end that was asked for, or a failure that
// nothing mends.
func (s *stream[T]) follow(ctx context.Context) error {
	for ev, err := range s.watcher.Events(ctx) {
		var item *codec.ItemError
		var stop *watch.Interruption
		switch {
		case err == nil:
			s.event(ctx, ev)
			if s.once && ev.Type == watch.Synced {
				return nil
			}
		case errors.As(err, &item):
			s.quarantine(item)
		case errors.As(err, &stop):
			if err := s.fatal(stop); err != nil {
				return err
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return failed(err)
		}
	}
	return errors.New("the watcher ended without a reason") // it never does
}

// fatal returns an error if there is no point in going on after i.
func (s *stream[T]) fatal(i *watch.Interruption) error {
	refused := errors.Is(i.Err, kube.ErrUnauthorized) || errors.Is(i.Err, kube.ErrForbidden) || errors.Is(i.Err, kube.ErrNotFound)
	began := s.synced || s.partial && s.opened
	switch {
	case i.Next == watch.OpNone, refused && !began:
		return failed(fmt.Errorf("%s %s: %w", verb(i.Op), s.label(), i.Err))
	case s.maxFailures >= 0 && i.Err != nil && i.Attempt >= max(1, s.maxFailures):
		return failed(fmt.Errorf("%s %s: gave up after %s in a row (--max-failures): %w", verb(i.Op), s.label(), count(i.Attempt, "failure"), i.Err))
	}
	return nil
}

// verb is what people call op.
func verb(op watch.Op) string {
	switch op {
	case watch.OpStream, watch.OpWatch:
		return "watch"
	}
	return "list"
}

func (s *stream[T]) event(ctx context.Context, ev watch.Event[T]) {
	switch ev.Type {
	case watch.Restart:
		s.restart(ev.Cause)
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
		s.progress(-1)
	}
	if s.blind(ev) {
		return
	}
	for _, d := range s.store.Apply(ev) {
		s.delta(ev, d)
	}
	if ev.Type == watch.Synced {
		s.sync(ev.Revision)
	}
}

// blind deals with an event whose past we do not know, because we began in the
// middle: it is told as the server tells it.
func (s *stream[T]) blind(ev watch.Event[T]) bool {
	if !s.partial || ev.Object.GetName() == "" {
		return false
	}
	rev := kube.Revision(ev.Object.GetResourceVersion())
	if s.listing {
		// The history is lost: what is newer than what we saw has changed.
		_, known := s.store.Get(kube.KeyOf(ev.Object))
		if known {
			return false
		}
		s.store.Apply(ev)
		if _, err := rev.Compare(s.from); err != nil || rev.Newer(s.from) {
			r := s.object(watch.Modified, ev.Object)
			r.synthetic = "relist"
			s.emit(r)
		}
		return true
	}
	s.from = ev.Revision
	s.store.Apply(ev)
	s.emit(s.object(ev.Type, ev.Object))
	return true
}

func (s *stream[T]) restart(cause error) {
	s.listing, s.items = true, 0
	if s.relist == nil && (s.synced || s.partial) {
		s.relist = &relist{cause: causeOf(cause)}
	}
}

// causeOf says why history could not be resumed.
func causeOf(err error) string {
	switch {
	case errors.Is(err, kube.ErrGone):
		return "history expired (410)"
	case errors.Is(err, watch.ErrAhead):
		return "the server was restored to an earlier state"
	case errors.Is(err, codec.ErrTooLarge):
		return "an event was too large to take"
	case err == nil:
		return "listed again"
	}
	return "could not resume (" + oneLine(err.Error()) + ")"
}

// delta makes the record of a change of the store.
func (s *stream[T]) delta(ev watch.Event[T], d cache.Delta[T]) {
	r := s.object(d.Type, d.New)
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
	s.emit(r)
}

func (s *stream[T]) sync(rev kube.Revision) {
	s.listing = false
	s.talk.done()
	n := s.store.Len()
	at := codec.Identity{ResourceVersion: string(rev)}
	switch {
	case s.relist == nil:
		s.emit(record{Type: string(watch.Synced), id: at, detail: syncedDetail{n}})
		s.empty(n)
	case s.partial:
		s.warn(fmt.Sprintf("%s; relisted %s; what was added or deleted while away cannot be known", s.relist.cause, count(n, "object")),
			"relisted", "cause", s.relist.cause, "objects", n)
		s.emit(record{Type: relistedType, id: at, detail: relistedDetail{Cause: s.relist.cause}})
	default:
		s.relisted(at, n)
	}
	s.relist, s.synced, s.partial = nil, true, false
}

// empty says that there is nothing, to those who see nothing.
func (s *stream[T]) empty(n int) {
	switch {
	case n > 0:
	case s.once:
		s.info("no objects"+in(s.namespace), "none")
	case s.name != "":
		s.info("does not exist"+in(s.namespace)+"; waiting for it", "none")
	default:
		s.info("no objects"+in(s.namespace)+"; waiting for some", "none")
	}
}

func (s *stream[T]) relisted(at codec.Identity, n int) {
	l := s.relist
	unchanged := max(0, n-l.added-l.modified)
	what := ""
	for _, part := range []struct {
		n    int
		what string
	}{{l.added, "added"}, {l.modified, "modified"}, {l.deleted, "deleted"}} {
		if part.n > 0 {
			what += fmt.Sprintf(", %s %s", thousands(part.n), part.what)
		}
	}
	if what == "" {
		what = ", nothing changed"
	}
	s.warn(fmt.Sprintf("%s; relisted %s: %s while away", l.cause, count(n, "object"), what[2:]),
		"relisted", "cause", l.cause, "objects", n, "added", l.added, "modified", l.modified, "deleted", l.deleted)
	s.emit(record{Type: relistedType, id: at, detail: relistedDetail{l.cause, &l.added, &l.modified, &l.deleted, &unchanged}})
}

// object returns the record of an object.
func (s *stream[T]) object(t watch.Type, o T) record {
	return record{Type: string(t), id: o.Identity(), object: s.asRaw(o), columns: s.columns}
}

// info and warn say something on stderr once everything before it is printed.
func (s *stream[T]) info(text, message string, attrs ...any) {
	s.say(slog.LevelInfo, text, message, attrs...)
}

func (s *stream[T]) warn(text, message string, attrs ...any) {
	s.say(slog.LevelWarn, text, message, attrs...)
}

func (s *stream[T]) say(level slog.Level, text, message string, attrs ...any) {
	s.give(record{say: func() { s.talk.say(level, s.label(), text, message, attrs...) }})
}

func (s *stream[T]) emit(r record) {
	r.time, r.resource = time.Now(), s.resource
	s.give(r)
}

func (s *stream[T]) quarantine(item *codec.ItemError) {
	s.store.Keep(kube.Key{Namespace: item.Identity.Namespace, Name: item.Identity.Name})
	if item.Identity.Name != "" && !s.includes(item.Identity.Name) {
		return
	}
	s.warn("skipped an object that cannot be read: "+item.Error(), "quarantined", "err", item.Error())
	s.emit(record{Type: quarantinedType, id: item.Identity, detail: errorDetail{Error: oneLine(item.Err.Error())}})
}

// interrupted: a request ended.
func (s *stream[T]) interrupted(i watch.Interruption) {
	if i.Err != nil && s.fatal(&i) != nil {
		return // run says it
	}
	gone := errors.Is(i.Err, kube.ErrGone)
	if (i.Op == watch.OpWatch || i.Op == watch.OpStream) && i.Lived > 0 {
		s.closed(&i, gone)
		return
	}
	if i.Op == watch.OpStream && errors.Is(i.Err, kube.ErrInvalid) || gone {
		return // an older server, which is listed instead; a 410, of which RESTART tells
	}
	s.attempts++
	why := i.Err
	if why == nil {
		why = errors.New("closed by the server")
	}
	s.warn(fmt.Sprintf("cannot %s: %v; again in %s", verb(i.Op), why, rough(i.Wait)),
		"failed", "op", string(i.Op), "err", oneLine(why.Error()), "attempt", i.Attempt, "wait", i.Wait.String())
	s.emit(record{Type: errorType, detail: errorOf(why)})
}

// closed: a watch that was open is no more.
func (s *stream[T]) closed(i *watch.Interruption, gone bool) {
	cause, text := "closed by the server", "watch closed by server after "+rough(i.Lived)
	level := slog.LevelInfo
	s.broken = i.Err != nil && !gone
	if i.Err != nil {
		level = slog.LevelWarn
		cause = oneLine(i.Err.Error())
		text = fmt.Sprintf("watch broken after %s (%s)", rough(i.Lived), brief(i.Err))
	}
	var st *kube.Status
	if errors.As(i.Err, &st) && !gone {
		s.emit(record{Type: errorType, detail: errorOf(i.Err)})
	}
	s.emit(record{Type: disconnectedType, id: codec.Identity{ResourceVersion: string(i.Revision)}, detail: disconnectedDetail{cause, i.Lived.Milliseconds()}})
	switch {
	case gone:
		return // RESTART tells
	case i.Next == watch.OpWatch:
		text += ", resuming at rv=" + string(i.Revision)
	case i.Next == watch.OpProbe:
		text += ", asking the server where it is"
	default:
		text += ", listing again"
	}
	if i.Wait > 0 {
		text += " in " + rough(i.Wait)
	}
	s.say(level, text, "watch ended", "cause", cause, "lived", i.Lived.String(), "rev", string(i.Revision), "next", string(i.Next))
}

func errorOf(err error) errorDetail {
	d := errorDetail{Error: oneLine(err.Error())}
	var st *kube.Status
	if errors.As(err, &st) {
		d.Status = &statusView{st.Code, st.Reason, st.Message}
	}
	return d
}

// connected: a watch was answered.
func (s *stream[T]) connected(_ watch.Op, from kube.Revision, gap time.Duration) {
	s.opened = true
	if gap == 0 {
		s.attempts = 0
		return
	}
	s.emit(record{Type: reconnectedType, id: codec.Identity{ResourceVersion: string(from)}, detail: reconnectedDetail{gap.Milliseconds()}})
	if s.attempts > 0 || s.broken {
		tried := ""
		if s.attempts > 0 {
			tried = fmt.Sprintf(" (%s)", count(s.attempts, "failed attempt"))
		}
		s.info("watching again after "+rough(gap)+tried, "watching again", "gap", gap.String(), "attempts", s.attempts)
	}
	s.attempts, s.broken = 0, false
}

// listed: a page was read.
func (s *stream[T]) listed(p list.Progress) {
	s.progress(p.Remaining)
}

// progressEvery is how often a long first list is told of.
const progressEvery = 10 * time.Second

// progress tells how far the first list is; remaining is -1 where nobody knows.
func (s *stream[T]) progress(remaining int64) {
	if !s.listing || s.synced {
		return
	}
	every := progressEvery
	if s.talk.live {
		every = 200 * time.Millisecond
	}
	if since := time.Since(s.began); since > every && time.Since(s.told) > every {
		s.told = time.Now()
		s.talk.progress(s.label(), s.items, remaining, since)
	}
}
