package apitest

import (
	"context"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

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
		gone = s.store.waitFor(x.r.Context(), q.rv)
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
