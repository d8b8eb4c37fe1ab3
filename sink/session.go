package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// session is the use of a scope from one Open to the next. It is for one goroutine.
type session struct {
	*Runner
	known Known
	first int64 // sequence at Open

	pos     Position // as the sink holds it
	next    Position // as it will be when pending is committed
	pending []Record
	bytes   int
	oldest  time.Time // arrival of the first of pending, by the monotonic clock, as is moved
	moved   time.Time // the last commit of this session

	load    *load               // nil in phase LIVE, and before RESTART
	members map[kube.Key]string // with Options.Where only: the UIDs of the objects in the table

	used         bool // the epoch may have records
	unpaged      bool // the next list comes in one page
	inconsistent bool // the pages of the current list are not of one snapshot
}

// errListAgain means that the received events cannot be used, and that the collection must
// be listed again.
var errListAgain = errors.New("list again")

// event is an event that the reader sends to the session.
type event struct {
	watch.Event[codec.Raw]
	err    error
	paging *list.Progress // a page was read
	ahead  bool           // the server was restored, as it turned out before a list
}

var errUnidentified = errors.New("the object has no name, UID or resource version")

// identified reports whether the event names its object.
func (ev *event) identified() bool { return ev.Key.Name != "" && ev.UID != "" && ev.Revision != "" }

// recall reads which objects the table holds, if the session needs that.
func (s *session) recall(ctx context.Context) error {
	if s.o.Where == nil {
		return nil
	}
	s.members = map[kube.Key]string{}
	for h, err := range s.known(ctx) {
		if err != nil {
			return fmt.Errorf("read what the sink holds of %s: %w", s.o.Scope, err)
		}
		s.members[h.Key] = h.UID
	}
	return nil
}

// follow watches from the position and commits the events until a failure, or ctx ends. Then
// it commits the pending records, unless the sink has failed.
func (s *session) follow(ctx context.Context) error {
	seen, err := s.seen(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan event) // without a buffer: while the session commits, the watch is not read
	done := make(chan error, 1)
	w := s.watcher(ctx, seen, events)
	go func() { done <- s.read(ctx, w, events) }()
	defer func() {
		cancel()
		for range events { // until the reader has closed it
		}
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Stop()
		if len(s.pending) > 0 {
			timer.Reset(time.Until(s.oldest.Add(s.o.FlushAfter)))
		}
		select {
		case ev, ok := <-events:
			if !ok {
				return errors.Join(s.flush(ctx), <-done)
			}
			if err := s.take(ctx, ev); err != nil {
				return err
			}
		case <-timer.C:
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// watcher returns the source of follow: a watch from the position if the table is complete,
// otherwise a list and then a watch. Each page of the list is reported as an event too.
func (s *session) watcher(ctx context.Context, seen kube.Revision, events chan<- event) *watch.Watcher[codec.Raw] {
	// A list in pages shows one snapshot; a stream of initial objects may begin with an
	// older state than the table has.
	o := watch.Options{Shard: s.shard, Initial: watch.Paged, Seen: seen}
	if s.pos.Phase == Live {
		o.Revision = s.pos.Revision
	}
	if s.unpaged {
		o.Limit = -1
	}
	o.Trace = watch.Trace{
		Listed:      func(p list.Progress) { send(ctx, events, event{paging: &p}) },
		Ahead:       func(error) { events <- event{ahead: true} }, // also if ctx ends: it is not to be lost
		Connected:   func(watch.Op, kube.Revision, time.Duration) { s.answered() },
		Interrupted: s.interrupted,
	}
	return watch.New(s.col, o)
}

// interrupted records that the server sends nothing, and logs it once. The first failure is
// not logged, because a broken watch is resumed at once.
func (s *session) interrupted(i watch.Interruption) {
	if f := s.o.Trace.Interrupted; f != nil {
		f(i)
	}
	if refused := (*kube.Status)(nil); i.Err == nil || !errors.As(i.Err, &refused) && i.Attempt < 3 {
		return
	}
	first := false
	s.note(func(st *Status) { first, st.Err = st.Err == nil, i.Err })
	if first {
		s.o.Logger.Warn("sink: nothing comes from the server", "scope", s.o.Scope.String(), "err", i.Err)
	}
}

// answered records that the server sends again.
func (s *session) answered() {
	again := false
	s.note(func(st *Status) { again, st.Err = st.Err != nil, nil })
	if again {
		s.o.Logger.Info("sink: the server answers again", "scope", s.o.Scope.String())
	}
}

// send sends ev to the session; false = ctx ended first.
func send(ctx context.Context, events chan<- event, ev event) bool {
	select {
	case events <- ev:
		return true
	case <-ctx.Done():
		return false
	}
}

// read sends the events of the watch until it ends or ctx does, and closes the channel.
func (s *session) read(ctx context.Context, w *watch.Watcher[codec.Raw], events chan<- event) (ended error) {
	defer close(events)
	for ev, err := range w.Events(ctx) {
		s.note(func(st *Status) { st.Contact = w.LastContact() })
		if i := (*watch.Interruption)(nil); errors.As(err, &i) {
			ended = &finalError{err} // unless something follows
			continue
		}
		s.answered()
		ended = nil
		if err != nil && !codec.IsItem(err) {
			ended = &finalError{err}
			continue
		}
		if !send(ctx, events, event{Event: ev, err: err}) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ended
}

// take processes one event.
func (s *session) take(ctx context.Context, ev event) error {
	switch {
	case ev.paging != nil:
		s.inconsistent = s.inconsistent || ev.paging.Inconsistent
		if f := s.o.Trace.Listed; f != nil {
			f(*ev.paging)
		}
		return nil
	case ev.ahead:
		return s.restored(ctx)
	case ev.Type == watch.Restart:
		return s.begin(ctx, ev.Cause)
	case ev.Type == watch.Synced:
		return s.complete(ctx, ev.Revision)
	case ev.Type == watch.Bookmark:
		return s.bookmark(ctx, ev.Revision)
	case !ev.identified():
		s.skip(ev.Key, cmpError(ev.err, errUnidentified))
		if s.load == nil {
			return s.loseHistory(ctx, CauseUnreadable) // a change of an unknown object
		}
		s.load.see(ev.Key) // the object exists, although its state is unknown
		return nil
	}
	// Without the copies the names would keep the JSON of the whole object in memory.
	ev.Key = kube.Key{Namespace: strings.Clone(ev.Key.Namespace), Name: strings.Clone(ev.Key.Name)}
	ev.UID, ev.Revision = strings.Clone(ev.UID), kube.Revision(strings.Clone(string(ev.Revision)))
	if s.load != nil {
		return s.listed(ctx, ev)
	}
	return s.changed(ctx, ev)
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (s *session) skip(k kube.Key, err error) {
	s.o.Logger.Warn("sink: object skipped", "scope", s.o.Scope.String(), "key", k.String(), "err", err)
	if f := s.o.Trace.Skipped; f != nil {
		f(k, err)
	}
}

// bookmark advances the position to a revision up to which there are no more events.
func (s *session) bookmark(ctx context.Context, rev kube.Revision) error {
	if s.load != nil || rev == "" || s.next.Revision.Newer(rev) {
		return nil
	}
	s.next.Revision = rev
	if len(s.pending) == 0 && time.Since(s.moved) >= s.o.BookmarkEvery {
		return s.flush(ctx)
	}
	return nil
}

// changed records an event of the watch.
func (s *session) changed(ctx context.Context, ev event) error {
	if ev.Revision == s.next.Revision {
		return nil // the server has sent the event before
	}
	if s.next.Revision.Newer(ev.Revision) {
		// The event was either skipped before, or is a repetition: they look the same. So
		// the history is complete only up to the revision before this event.
		if n, err := strconv.ParseUint(string(ev.Revision), 10, 64); err == nil && n > 0 {
			s.next.Revision = kube.Revision(strconv.FormatUint(n-1, 10))
		}
		return s.loseHistory(ctx, CauseDisorder)
	}
	rec, selected := s.record(ev)
	s.note(func(st *Status) { st.Seen = ev.Revision })
	s.next.Revision = ev.Revision
	if s.o.Where != nil {
		_, held := s.members[ev.Key]
		switch {
		case !held && (!selected || ev.Type == watch.Deleted):
			return nil
		case rec.Type == Added && held:
			rec.Type = Modified
		case rec.Type == Modified && !held:
			rec.Type = Added
		}
	}
	if ev.Type == watch.Deleted {
		return s.deleted(ctx, rec)
	}
	if !selected {
		rec.Type, rec.ID = Left, leftID(rec.Cluster, rec.Epoch, rec.UID, rec.Revision)
	}
	return s.add(ctx, rec)
}

// selects reports whether the server selects objects: what it does not send may exist.
func (s *session) selects() bool { return !s.col.Labels.Empty() || !s.col.Fields.Empty() }

// deleted records a DELETED event. The server also sends one for an object that has left the
// selection.
func (s *session) deleted(ctx context.Context, rec Record) error {
	rec.ID = DeletionID(rec.Cluster, rec.Epoch, rec.UID)
	if s.selects() {
		exists, err := s.get(ctx, rec.Key(), rec.UID)
		if err != nil {
			return err
		}
		if rec.ID = selectedDeletionID(rec.Cluster, rec.Epoch, rec.UID, rec.Revision); exists {
			rec.Type, rec.ID = Left, leftID(rec.Cluster, rec.Epoch, rec.UID, rec.Revision)
		}
	}
	return s.add(ctx, rec)
}

// loseHistory returns to phase LOADING for a cause that the watch cannot detect.
func (s *session) loseHistory(ctx context.Context, cause string) error {
	if err := s.reload(ctx, cause); err != nil {
		return err
	}
	return fmt.Errorf("%s: %s: %w", s.o.Scope, cause, errListAgain)
}

// get reads whether the object still exists, whether it is selected or not.
func (s *session) get(ctx context.Context, k kube.Key, uid string) (exists bool, err error) {
	o, err := client.Of[kube.Partial](s.o.Client, s.o.Scope.Resource).Get(ctx, k)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask whether %s %s left the selection or was deleted (needs the verb get): %w", s.o.Scope.Resource.GroupResource(), k, err)
	}
	return o.UID == uid, nil
}

// add appends a record to the batch, and commits the batch if it is full.
func (s *session) add(ctx context.Context, rec Record) error {
	if s.members != nil {
		if rec.Type == Deleted || rec.Type == Left {
			delete(s.members, rec.Key())
		} else {
			s.members[rec.Key()] = rec.UID
		}
	}
	if len(s.pending) == 0 {
		s.oldest = time.Now() // rec.Time has no monotonic reading
		s.note(func(st *Status) { st.Pending = s.oldest })
	}
	s.pending, s.used = append(s.pending, rec), true
	if s.bytes += rec.Size(); len(s.pending) >= s.o.BatchRecords || s.bytes >= s.o.BatchBytes {
		return s.flush(ctx)
	}
	return nil
}

// flush commits the pending records, and the position if it has advanced.
func (s *session) flush(ctx context.Context) error {
	if s.next == s.pos && len(s.pending) == 0 {
		return nil
	}
	next, begun := s.next, time.Now()
	next.Sequence, next.Time = s.pos.Sequence+1, begun.UTC()
	bounded, release := bound(ctx, s.o.CommitTimeout)
	err := s.o.Sink.Commit(bounded, s.pending, next)
	release()
	if err != nil {
		return fmt.Errorf("commit %d records of %s: %w", len(s.pending), s.o.Scope, err)
	}
	done := Committed{Position: next, Records: len(s.pending), Bytes: s.bytes, Took: time.Since(begun)}
	for i := range s.pending {
		switch s.pending[i].Type {
		case Gap:
			done.Gaps++
		case Quarantined:
			done.Poisoned++
		}
	}
	s.pos, s.next, s.moved = next, next, begun
	clear(s.pending)
	s.pending, s.bytes = s.pending[:0], 0
	s.note(func(st *Status) { st.Position, st.Pending, st.Err = next, time.Time{}, nil })
	if f := s.o.Trace.Committed; f != nil {
		f(done)
	}
	return nil
}

// bound returns a context that ends shutdownGrace after ctx, and after d at the latest.
func bound(ctx context.Context, d time.Duration) (context.Context, func()) {
	c, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(shutdownGrace):
			cancel()
		case <-c.Done():
		}
	})
	return c, func() { stop(); cancel() }
}
