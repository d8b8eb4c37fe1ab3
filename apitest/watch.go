package apitest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/network"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// ending is how a watch ends.
type ending int

const (
	running  ending = iota
	endClean        // the body ends as it should
	endCut          // in the middle of an event
	endReset        // the connection is reset
)

// watcher is one running watch. Its fields are guarded by store.mu.
type watcher struct {
	query    *query
	conn     *network.Conn
	signal   chan struct{} // of size 1
	cursor   int           // the next event, counted from the first ever
	held     []event       // those from cursor on that the log has forgotten
	live     int           // where the log ended when the watch began
	after    uint64        // only later revisions are sent
	bookmark bool          // one is due now
	how      ending
	status   *kube.Status // a last ERROR event
}

func (w *watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default: // it has been woken already
	}
}

// end asks the watch to end; the first call counts.
func (w *watcher) end(how ending) {
	if w.how == running {
		w.how = how
	}
	w.wake()
}

// watch answers a WATCH: with a stream, or with the Status it returns.
func (s *Server) watch(x *Exchange, w http.ResponseWriter, q *query, v *view) *kube.Status {
	var first collection
	initial := q.initial != nil && *q.initial
	marker := q.initial == nil && q.rv == 0 || initial // synthetic events, then the end marker
	if x.quirks.IgnoreInitialEvents {
		initial, marker = false, q.rv == 0
	}
	run := &watcher{query: q, conn: x.conn, signal: make(chan struct{}, 1), after: q.rv}
	var gone *kube.Status
	if marker {
		gone = s.waitFor(x.r.Context(), q.rv)
	}
	now := uint64(0)
	if gone == nil {
		first, now, gone = s.store.join(x.target.table, run, marker)
		defer s.store.leave(x.target.table, run)
		if gone != nil && s.goneShape() == GoneStatus {
			return gone
		}
	}
	defer s.watchStarted()()
	w.Header().Set("Content-Type", "application/json")
	if v.binary {
		w.Header().Set("Content-Type", wire.TypeStream)
		x.binary = &wire.Stream{Info: v.info}
	}
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(http.StatusOK)
	x.Flush()
	if gone != nil {
		run.how, run.status = endClean, gone
		s.finishWatch(x, run)
		return nil
	}
	bookmark := func(rv uint64, end bool) error { return x.frame(v.bookmark(rv, end)) }
	err := x.due()
	for o := range first.all() {
		if err != nil {
			break
		}
		if q.matches(o) {
			err = x.frame(v.event("ADDED", o))
		}
	}
	if err == nil && marker && q.bookmarks && !x.quirks.IgnoreInitialEvents && !x.quirks.NoInitialEventsEnd {
		err = bookmark(now, true)
	}
	if err == nil {
		x.Flush()
		err = s.stream(x, run, v, bookmark)
	}
	if err != errEnd {
		x.Abort() // the client has gone, or the server closes
	}
	s.finishWatch(x, run)
	return nil
}

// stream sends events and bookmarks until the watch ends: by errEnd if the
// client is still there.
func (s *Server) stream(x *Exchange, w *watcher, v *view, bookmark func(uint64, bool) error) error {
	timeout := w.query.timeout
	if timeout <= 0 {
		s.store.mu.Lock()
		timeout = 30*time.Minute + time.Duration(s.store.aside.Int64N(int64(30*time.Minute)))
		s.store.mu.Unlock()
	}
	deadline := time.Now().Add(timeout)
	timer, ticker := time.NewTimer(timeout), time.NewTimer(s.nextBookmark(deadline))
	defer timer.Stop()
	defer ticker.Stop()
	for {
		batch, rv, how := s.store.next(x.target.table, w)
		for _, e := range batch {
			if x.quirks.IgnoreShard {
				w.query.sharding = nil
			}
			if typ, o := w.query.seen(e, x.target.info); o != nil {
				if err := x.frame(v.event(typ, o)); err != nil {
					return err
				}
			}
		}
		if len(batch) > 0 {
			x.Flush()
			continue
		}
		if how != running {
			return errEnd
		}
		if rv > 0 && w.query.bookmarks {
			if err := bookmark(rv, false); err != nil {
				return err
			}
			x.Flush()
		}
		select {
		case <-w.signal:
		case <-ticker.C:
			ticker.Reset(s.nextBookmark(deadline))
			s.store.mu.Lock()
			w.bookmark = true
			s.store.mu.Unlock()
		case <-timer.C:
			return errEnd
		case <-x.r.Context().Done():
			return context.Cause(x.r.Context())
		}
	}
}

// nextBookmark returns the time until the next bookmark is due: an interval,
// or until 2 s before the deadline.
func (s *Server) nextBookmark(deadline time.Time) time.Duration {
	left := time.Until(deadline)
	interval := s.options.BookmarkInterval
	if interval < 0 {
		interval = left + time.Hour // not before the end
	}
	if last := left - 2*time.Second; last > 0 {
		return min(interval, last)
	}
	return interval
}

// finishWatch ends the stream as w.how says; a watch that has not been told
// ends in good order.
func (s *Server) finishWatch(x *Exchange, w *watcher) {
	s.store.mu.Lock()
	how, status := w.how, w.status
	s.store.mu.Unlock()
	if status != nil {
		x.frame(StatusEvent(status)) // the end, whatever it returns
	}
	switch how {
	case endReset:
		x.Reset()
	case endCut:
		x.Write([]byte(`{"type":"MODIFIED","object":{"kind":"`))
		x.Flush()
		x.Abort()
	}
	x.orderlyEnd()
}

// StatusEvent returns the ERROR event of a watch with st, with its newline.
func StatusEvent(st *kube.Status) []byte {
	b := append([]byte(`{"type":"ERROR","object":`), wire.EncodeStatus(st)...)
	return append(b, '}', '\n')
}

// seen returns how the filter sees an event: its type and object, or nil.
func (f *filter) seen(e event, info *object.Info) (string, *object.Object) {
	was, is := f.matches(e.prev), f.matches(e.next)
	switch {
	case was && is:
		return "MODIFIED", e.next
	case is:
		return "ADDED", e.next
	case was && e.next == nil:
		return "DELETED", e.gone
	case was:
		return "DELETED", e.prev.Stamped(info, e.rv)
	}
	return "", nil
}

// join begins a watch: after w.after, or, with initial, with the objects that
// there are now. A returned Status says that the history is gone.
func (st *store) join(t *table, w *watcher, initial bool) (objects collection, rv uint64, gone *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	end := t.base + len(t.log)
	w.cursor, w.live = end, end
	if st.tables[t.info.GroupResource()] != t {
		w.end(endClean) // the resource was removed since the request was routed
	}
	switch {
	case initial:
		objects = t.sorted
		w.after = st.rev
	case w.after == 0:
		w.after = st.rev
	case w.after < t.recent:
		return objects, 0, wire.Expired(w.after, t.recent)
	default:
		i, _ := slices.BinarySearchFunc(t.log, w.after+1, func(e event, rv uint64) int { return cmp.Compare(e.rv, rv) })
		w.cursor = t.base + i
	}
	t.watches[w] = struct{}{}
	return objects, st.rev, nil
}

func (st *store) leave(t *table, w *watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(t.watches, w)
}

// batchSize bounds the events that a watch takes under the lock at once.
const batchSize = 256

// next returns the next events of w. Without any it returns the revision for a
// bookmark, if one is due and w has not been promised a later one, and how w
// should end.
func (st *store) next(t *table, w *watcher) (batch []event, bookmark uint64, how ending) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := w.cursor + len(w.held); w.how == endReset || at < t.base || at > t.base+len(t.log) {
		w.end(endClean)
		return nil, 0, w.how
	}
	if w.how == endClean && w.overrun(t, st.buffer) {
		return nil, 0, endClean // it was too slow, and gets no more
	}
	for w.cursor < t.base+len(t.log) {
		if len(w.held) > 0 {
			batch, w.held = w.held, nil
		} else {
			log := t.log[w.cursor-t.base:]
			batch = slices.Clone(log[:min(len(log), batchSize)])
		}
		w.cursor += len(batch)
		batch = slices.DeleteFunc(batch, func(e event) bool { return e.rv <= w.after })
		if len(batch) > 0 {
			return batch, 0, running
		}
	}
	if w.bookmark {
		w.bookmark = false
		if st.rev >= w.after {
			bookmark = st.rev
		}
	}
	return nil, bookmark, w.how
}

// overrun reports whether w lags behind the events since it began by more than
// the buffer holds.
func (w *watcher) overrun(t *table, buffer int) bool {
	return t.base+len(t.log)-max(w.cursor, w.live) > buffer
}
